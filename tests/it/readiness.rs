//! `/readyz` while something is wrong.

use reviewd::http::Reason;
use serde_json::json;

use crate::exchange::{Service, sample};

fn reason(code: &'static str, blocking: bool) -> Reason {
    Reason {
        code,
        message: format!("{code} happened"),
        details: vec!["reviews[3].rating: 7 is not from 1 to 5".to_owned()],
        internal: Some("postgres.example: no route".to_owned()),
        blocking,
    }
}

#[test]
fn reasons_are_listed_replaced_and_taken_back() {
    let (service, app) = Service::alone(sample());
    let readiness = &app.readiness;
    readiness.report(&reason("reload_failed", false));
    readiness.report(&reason("reload_failed", false));
    let reply = service.get("/readyz");
    let expected = json!([{
        "code": "reload_failed",
        "message": "reload_failed happened",
        "blocking": false,
        "details": ["reviews[3].rating: 7 is not from 1 to 5"],
    }]);
    assert_eq!(
        (
            reply.status,
            &reply.json()["reasons"],
            &reply.json()["ready"]
        ),
        (200, &expected, &json!(true))
    );

    assert!(
        !reply.text().contains("postgres.example"),
        "anybody may ask"
    );

    readiness.report(&reason("draining", true));
    let reply = service.get("/readyz");
    assert_eq!((reply.status, &reply.json()["ready"]), (503, &json!(false)));
    assert_eq!(reply.json()["reasons"].as_array().map(Vec::len), Some(2));
    assert_eq!(service.get("/healthz").status, 200);

    readiness.withdraw("draining");
    readiness.withdraw("reload_failed");
    assert_eq!(service.get("/readyz").json()["reasons"], json!([]));
}
