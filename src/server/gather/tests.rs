use std::future::poll_fn;
use std::io::Read as _;
use std::net::TcpStream as Peer;
use std::thread;
use std::time::Duration;

use tokio::io::BufStream;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};

use super::super::activity::{Activity, Protocol};
use super::super::io::Socket;
use super::*;

/// More bytes than a socket takes for a peer that reads nothing.
const FLOOD: usize = 16 << 20;

/// Longest wait for what has to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stream that is gathered, with what tests look at.
struct Held<S: Stream> {
    stream: Gathered<S>,
    gathering: Arc<Gathering>,
    activity: Arc<Activity>,
}

/// Gathers what is written to `stream`, whose peer has said something.
fn held<S: Stream>(stream: S) -> Held<S> {
    let gathering = Arc::new(Gathering::default());
    let activity = Arc::new(Activity::new(Protocol::Http2, Instant::now()));
    let watched = Watched::new(stream, Arc::clone(&activity));
    let mut stream = Gathered::new(watched, Arc::clone(&gathering));
    stream.has_read = true;
    Held {
        stream,
        gathering,
        activity,
    }
}

/// A socket, and the peer's end of it.
async fn pair() -> (Socket, Peer) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let peer = Peer::connect(address).expect("connected");
    peer.set_read_timeout(Some(PATIENCE)).expect("an option");
    let (stream, _) = listener.accept().await.expect("accepted");
    let activity = Activity::new(Protocol::Http2, Instant::now());
    (Socket::new(stream, Arc::new(activity)), peer)
}

/// Returns what has come to the peer by now, and waits for nothing.
fn come(peer: &mut Peer) -> Vec<u8> {
    peer.set_nonblocking(true).expect("an option");
    let piece = piece(peer);
    peer.set_nonblocking(false).expect("an option");
    piece
}

/// Returns the next piece that comes to the peer, in the length that it comes in; nothing at the end.
fn piece(peer: &mut Peer) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    let length = peer.read(&mut bytes).unwrap_or(0);
    bytes.truncate(length);
    bytes
}

/// Has the peer read so many bytes, on a thread of its own.
fn read(mut peer: Peer, length: usize) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = vec![0; length];
        peer.read_exact(&mut bytes).expect("all of it");
        bytes
    })
}

impl<S: Stream> Held<S> {
    /// Writes `bytes` and flushes, as h2 does with each frame; returns how many were taken. A flush that has to wait is
    /// asked for again at the end of the poll.
    fn write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<usize> {
        let slices = [IoSlice::new(bytes)];
        let taken = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &slices));
        let _flushed = self.flush(context);
        Poll::Ready(taken.expect("a peer"))
    }

    fn flush(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        flushed.map(|flushed| flushed.expect("a peer"))
    }

    /// Polls as the task of a connection does whose h2 writes `all` in frames of 16 KiB, of which `at` bytes are
    /// written; ready when everything has left.
    fn send_all(&mut self, context: &mut Context<'_>, all: &[u8], at: &mut usize) -> Poll<()> {
        let gathering = Arc::clone(&self.gathering);
        gathering.poll(|| {
            while let Some(rest @ [_, ..]) = all.get(*at..) {
                let frame = &rest[..rest.len().min(16 << 10)];
                *at += ready!(self.write(context, frame));
            }
            ready!(self.flush(context));
            match gathering.is_owing.load(Relaxed) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
    }
}

#[tokio::test]
async fn what_is_written_leaves_in_one_piece_once_the_connection_has_been_polled() {
    let (socket, mut peer) = pair().await;
    let mut held = held(socket);
    let gathering = Arc::clone(&held.gathering);
    let mut polls = 0;
    poll_fn(|context| {
        let polled: Poll<()> = gathering.poll(|| {
            polls += 1;
            if polls == 1 {
                for frame in [b"head", b"body", b"tail"] {
                    assert_eq!(held.write(context, frame), Poll::Ready(4));
                    assert_eq!(come(&mut peer), b"", "nothing leaves before");
                }
            }
            assert!(held.flush(context).is_ready());
            Poll::Pending
        });
        assert!(polled.is_pending());
        Poll::Ready(())
    })
    .await;
    assert_eq!((piece(&mut peer), polls), (b"headbodytail".to_vec(), 2));
    // Where nothing was written, nothing is flushed.
    let quiet: Poll<()> = gathering.poll(|| {
        polls += 1;
        Poll::Pending
    });
    assert!(quiet.is_pending());
    assert_eq!((polls, held.stream.bytes.capacity()), (3, 0));
}

#[tokio::test]
async fn first_words_leave_before_the_peer_has_said_anything() {
    let (socket, mut peer) = pair().await;
    let mut held = held(socket);
    held.stream.has_read = false;
    held.gathering.is_held.store(true, Relaxed);
    poll_fn(|context| held.write(context, b"SETTINGS")).await;
    assert_eq!(piece(&mut peer), b"SETTINGS");
}

#[tokio::test]
async fn so_many_bytes_are_gathered_and_no_more() {
    let (socket, mut peer) = pair().await;
    let mut held = held(socket);
    held.gathering.is_held.store(true, Relaxed);
    poll_fn(|context| {
        let most = vec![b'x'; GATHER_BYTES - 1];
        assert_eq!(held.write(context, &most), Poll::Ready(most.len()));
        assert_eq!(held.write(context, b"yz"), Poll::Ready(1), "it is full");
        assert_eq!(come(&mut peer), b"");
        assert_eq!(held.write(context, b"z"), Poll::Ready(1));
        Poll::Ready(())
    })
    .await;
    assert_eq!(held.stream.bytes, b"z");
    assert_eq!(held.stream.bytes.capacity(), GATHER_BYTES);
    let mut sent = vec![0; GATHER_BYTES];
    peer.read_exact(&mut sent).expect("the first lot");
    assert!(sent.ends_with(b"xy"));
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_waited_for_and_gets_everything_in_its_order() {
    let (socket, peer) = pair().await;
    let mut held = held(socket);
    let all: Vec<u8> = (0..FLOOD).map(|at| (at / 1_000 % 251) as u8).collect();
    let mut at = 0;
    // What the socket takes may be more than a turn.
    let mut before = usize::MAX;
    while before != at {
        before = at;
        poll_fn(|context| {
            assert!(held.send_all(context, &all, &mut at).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    let peer = read(peer, FLOOD);
    let sent = poll_fn(|context| held.send_all(context, &all, &mut at));
    timeout(PATIENCE, sent).await.expect("all is taken");
    assert!(peer.join().expect("no panic") == all);
    assert_eq!(held.stream.bytes.capacity(), 0, "the memory is given back");
}

#[tokio::test]
async fn a_peer_that_takes_everything_lets_others_have_their_turn() {
    let (socket, peer) = pair().await;
    let mut held = held(socket);
    let peer = read(peer, FLOOD);
    let all = vec![b'x'; FLOOD];
    let (mut at, mut before) = (0, 0);
    let sent = poll_fn(|context| {
        let polled = held.send_all(context, &all, &mut at);
        // One lot may be under way when the turn is over, and one is written and not sent.
        let most = TURN_BYTES + 2 * GATHER_BYTES;
        assert!(at - before <= most, "{} in one turn", at - before);
        before = at;
        polled
    });
    timeout(PATIENCE, sent).await.expect("all is taken");
    assert!(peer.join().expect("no panic") == all);
}

#[tokio::test]
async fn what_the_stream_itself_keeps_is_flushed_until_it_has_left() {
    let (mut socket, peer) = pair().await;
    let mut filled = 0;
    poll_fn(|context| {
        let piece = [b'x'; 64 << 10];
        let mut fill = || tokio::io::AsyncWrite::poll_write(Pin::new(&mut socket), context, &piece);
        while let Poll::Ready(taken) = fill() {
            filled += taken.expect("a peer");
        }
        Poll::Ready(())
    })
    .await;
    // As TLS does, it takes bytes that the socket has no room for.
    let mut held = held(BufStream::with_capacity(1, GATHER_BYTES, socket));
    let mut at = 0;
    poll_fn(|context| {
        assert!(held.send_all(context, b"end", &mut at).is_pending());
        Poll::Ready(())
    })
    .await;
    assert!(held.stream.bytes.is_empty(), "the stream has them");
    let peer = read(peer, filled + 3);
    let sent = poll_fn(|context| held.send_all(context, b"end", &mut at));
    timeout(PATIENCE, sent).await.expect("all is taken");
    assert!(peer.join().expect("no panic").ends_with(b"xend"));
}

#[tokio::test]
async fn what_was_said_in_the_last_poll_of_a_connection_is_heard_unless_it_is_reset() {
    for (is_reset, heard) in [(false, &b"bye"[..]), (true, b"")] {
        let (socket, mut peer) = pair().await;
        let mut held = held(socket);
        held.gathering.is_held.store(true, Relaxed);
        poll_fn(|context| held.write(context, b"bye")).await;
        if is_reset {
            held.activity.note_reset();
        }
        drop(held.stream);
        assert_eq!(piece(&mut peer), heard);
    }
}
