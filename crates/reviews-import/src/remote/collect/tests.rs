use std::collections::VecDeque;

use super::*;

/// Answers with what is listed, and remembers what it was asked.
#[derive(Default)]
struct Replay {
    answers: VecDeque<Result<RemoteResponse, RemoteError>>,
    asked: Vec<RemoteRequest>,
    waited: Vec<Duration>,
    elapsed: Duration,
}

impl Replay {
    fn of(answers: impl IntoIterator<Item = RemoteResponse>) -> Replay {
        Replay {
            answers: answers.into_iter().map(Ok).collect(),
            ..Replay::default()
        }
    }
}

impl RemoteClient for Replay {
    fn send(
        &mut self,
        request: &RemoteRequest,
        bytes_max: u64,
    ) -> Result<RemoteResponse, RemoteError> {
        self.asked.push(request.clone());
        let response = self.answers.pop_front().expect("it is not asked again")?;
        if response.body.len() as u64 > bytes_max {
            return Err(RemoteError::TooLarge(bytes_max));
        }
        Ok(response)
    }

    fn wait(&mut self, time: Duration) {
        self.waited.push(time);
        self.elapsed += time;
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

fn source(kind: RemoteKind) -> RemoteSource {
    RemoteSource {
        id: "a".to_owned(),
        kind,
        url: "https://x.example/reviews".to_owned(),
        token_env: Some("TOKEN".to_owned()),
        token_file: None,
        location: None,
        verification: None,
    }
}

fn page(body: &str) -> RemoteResponse {
    RemoteResponse {
        status: 200,
        body: body.into(),
        ..RemoteResponse::default()
    }
}

fn status(status: u16, retry_after: Option<&str>) -> RemoteResponse {
    RemoteResponse {
        status,
        retry_after: retry_after.map(str::to_owned),
        ..RemoteResponse::default()
    }
}

fn read(
    kind: RemoteKind,
    limits: CollectLimits,
    replay: &mut Replay,
) -> Result<Collected, RemoteError> {
    let validators = SourceValidators::default();
    collect(&source(kind), Some("secret"), &validators, &limits, replay)
}

const ONE: &str = r#"{"reviews":[{"id":1}]}"#;
const NONE: &str = r#"{"reviews":[]}"#;

#[test]
fn pages_are_read_until_one_is_empty() {
    let mut replay = Replay::of([page(ONE), page(ONE), page(NONE)]);
    let collected = read(RemoteKind::Judgeme, CollectLimits::default(), &mut replay).unwrap();
    assert_eq!(collected.pages.len(), 2);
    let urls: Vec<&str> = replay.asked.iter().map(|request| &*request.url).collect();
    let expected = [1, 2, 3].map(|number| {
        format!("https://x.example/reviews?per_page=100&page={number}&api_token=secret")
    });
    assert_eq!(urls, expected);
}

#[test]
fn a_wait_that_is_demanded_is_kept_and_a_longer_one_ends_the_try() {
    let mut replay = Replay::of([status(429, Some("7")), page(NONE)]);
    read(RemoteKind::Yotpo, CollectLimits::default(), &mut replay).unwrap();
    assert_eq!(replay.waited, [Duration::from_secs(7)]);
    let at_most = status(503, Some("60"));
    let mut replay = Replay::of([at_most, page(NONE)]);
    read(RemoteKind::Yotpo, CollectLimits::default(), &mut replay).unwrap();
    let mut replay = Replay::of([status(429, Some("61"))]);
    let error = read(RemoteKind::Yotpo, CollectLimits::default(), &mut replay).unwrap_err();
    assert_eq!(error, RemoteError::Wait(Duration::from_secs(61)));
    assert_eq!(replay.waited, []);
}

#[test]
fn a_fault_is_tried_three_times_and_nothing_is_returned() {
    let mut replay = Replay::of([
        page(ONE),
        status(500, None),
        status(500, None),
        status(500, None),
    ]);
    let error = read(
        RemoteKind::Trustpilot,
        CollectLimits::default(),
        &mut replay,
    )
    .unwrap_err();
    assert_eq!(error, RemoteError::Status(500));
    assert_eq!(replay.waited, WAITS);
}

#[test]
fn an_expired_token_is_not_tried_again() {
    for refused in [401, 403] {
        let mut replay = Replay::of([status(refused, None)]);
        let error = read(RemoteKind::Google, CollectLimits::default(), &mut replay).unwrap_err();
        assert_eq!(error, RemoteError::Token(refused));
    }
}

#[test]
fn a_redirect_is_not_followed_with_a_token() {
    let mut replay = Replay::of([status(301, None)]);
    let error = read(RemoteKind::Google, CollectLimits::default(), &mut replay).unwrap_err();
    assert_eq!(error, RemoteError::Redirect(301));
}

#[test]
fn the_limit_of_pages_holds_on_both_sides() {
    let limits = CollectLimits {
        pages_max: 2,
        ..CollectLimits::default()
    };
    let mut replay = Replay::of([page(ONE), page(NONE)]);
    read(RemoteKind::Judgeme, limits, &mut replay).unwrap();
    let mut replay = Replay::of([page(ONE), page(ONE)]);
    let error = read(RemoteKind::Judgeme, limits, &mut replay).unwrap_err();
    assert_eq!(error, RemoteError::TooManyPages(2));
}

#[test]
fn the_limit_of_bytes_holds_for_the_sum_of_the_pages() {
    let bytes = (ONE.len() + NONE.len()) as u64;
    for (bytes_max, is_enough) in [(bytes, true), (bytes - 1, false)] {
        let limits = CollectLimits {
            bytes_max,
            ..CollectLimits::default()
        };
        let mut replay = Replay::of([page(ONE), page(NONE)]);
        let result = read(RemoteKind::Judgeme, limits, &mut replay);
        assert_eq!(result.is_ok(), is_enough, "{bytes_max}: {result:?}");
    }
}

#[test]
fn the_limit_of_time_holds_on_both_sides() {
    for (retry_after, is_enough) in [("9", true), ("10", false)] {
        let limits = CollectLimits {
            time_max: Duration::from_secs(10),
            ..CollectLimits::default()
        };
        let mut replay = Replay::of([status(429, Some(retry_after)), page(NONE)]);
        let result = read(RemoteKind::Judgeme, limits, &mut replay);
        assert_eq!(result.is_ok(), is_enough, "{retry_after}: {result:?}");
    }
}

#[test]
fn a_document_is_asked_for_with_its_validators() {
    let validators = SourceValidators {
        etag: Some("\"1\"".to_owned()),
        last_modified: Some("Fri, 20 Nov 2026 09:00:00 GMT".to_owned()),
    };
    let mut replay = Replay::of([status(304, None)]);
    let limits = CollectLimits::default();
    let collected = collect(
        &source(RemoteKind::Csv),
        None,
        &validators,
        &limits,
        &mut replay,
    )
    .unwrap();
    assert!(collected.is_unchanged);
    assert_eq!(collected.validators, validators);
    let fields = &replay.asked[0].fields;
    assert!(
        fields.contains(&("If-None-Match", "\"1\"".to_owned())),
        "{fields:?}"
    );
}

#[test]
fn credentials_are_exchanged_for_a_token_first() {
    let mut replay = Replay::of([page(r#"{"access_token":"fresh"}"#), page("{}")]);
    let credentials = r#"{"client_id":"i","client_secret":"s","refresh_token":"r"}"#;
    let validators = SourceValidators::default();
    let limits = CollectLimits::default();
    let google = source(RemoteKind::Google);
    collect(
        &google,
        Some(credentials),
        &validators,
        &limits,
        &mut replay,
    )
    .unwrap();
    let body = replay.asked[0].body.as_ref().unwrap();
    let expected = "grant_type=refresh_token&client_id=i&client_secret=s&refresh_token=r";
    assert_eq!(body.text, expected);
    let bearer = ("Authorization", "Bearer fresh".to_owned());
    assert!(replay.asked[1].fields.contains(&bearer));
    let mut replay = Replay::of([]);
    let error = collect(&google, Some("{}"), &validators, &limits, &mut replay).unwrap_err();
    assert!(matches!(error, RemoteError::Credentials(_)), "{error}");
}
