//! Reads from pages of any origin: the answer to a browser's question. The fields of every other answer are in the golden
//! transcripts.

use crate::documents::READS;
use crate::exchange::service;

#[test]
fn a_preflight_is_204_and_allows_what_reads_need() {
    for path in READS {
        let fields = [
            ("Origin", "https://elsewhere.example"),
            ("Access-Control-Request-Method", "GET"),
            ("Access-Control-Request-Headers", "if-none-match"),
        ];
        let reply = service().send("OPTIONS", path, &fields);
        assert_eq!(reply.status, 204, "{path}");
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-methods", "GET, HEAD, OPTIONS"),
            (
                "access-control-allow-headers",
                "Authorization, Content-Type, If-Modified-Since, If-None-Match",
            ),
            ("access-control-max-age", "86400"),
        ] {
            assert_eq!(reply.field(name), Some(value), "{path} {name}");
        }
        assert!(reply.field("content-length").is_none(), "{path}");
        let read = service().send("GET", path, &fields[..1]);
        assert_eq!(
            read.field("access-control-allow-origin"),
            Some("*"),
            "{path}"
        );
        assert!(read.field("access-control-allow-credentials").is_none());
    }
}
