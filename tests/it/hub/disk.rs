//! A disk that fills up under the hub, as far as this machine lets a test make one.

use std::process::Command;

use super::rig::Rig;
use super::subscriber::Subscriber;
use crate::support::wait_until;
use reviewd::websub::Place;

/// A file system of one megabyte; unmounted at the end.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts one; `None` where that is not permitted.
    fn mount() -> Option<SmallDisk> {
        let disk = SmallDisk(tempfile::tempdir().unwrap());
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
            .arg(disk.0.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the store may still be open. What is left goes with the machine's temporary files.
        let _unmounted = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn a_disk_that_fills_up_refuses_requests_keeps_promises_and_recovers() {
    let Some(disk) = SmallDisk::mount() else {
        println!(
            "SKIPPED: no small file system can be mounted here; the store's own tests cover a full disk"
        );
        return;
    };
    let rig =
        Rig::start_with(|settings| settings.place = Place::Directory(disk.0.path().to_owned()));
    let subscriber = Subscriber::good();
    rig.subscribe(&subscriber.callback("/cb"));
    let filler = disk.0.path().join("hub.filler");
    let rest = vec![0u8; 2 << 20];
    assert!(
        std::fs::write(&filler, &rest).is_err(),
        "the disk is full now"
    );
    let mut refusal = None;
    // Pages that the log has already are used up first.
    for number in 0..500 {
        if let Err(error) = rig.subscribe_with(
            "https://127.0.0.1:1024/nobody",
            &[("hub.lease_seconds", &format!("{}", 1000 + number))],
        ) {
            refusal = Some(error);
            break;
        }
    }
    let refusal = refusal.expect("a full disk refuses sooner or later");
    assert_eq!(refusal.reason, "the hub cannot store requests at present");
    wait_until("the health says so", || {
        rig.hub()
            .health()
            .store_error
            .as_ref()
            .is_some_and(|text| text.ends_with("the disk is full"))
    });
    std::fs::remove_file(&filler).unwrap();
    wait_until("it recovers", || rig.hub().health().store_error.is_none());
    assert!(rig.listed(&subscriber.callback("/cb")).is_some());
    rig.change("2");
    assert_eq!(subscriber.wait_delivery(1).body, b"2");
}
