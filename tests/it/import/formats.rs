//! The exports of platforms: found by their columns, and what their owners have hidden stays unpublished.

use serde_json::{Value, json};

use super::{file, fixture, import, raw, reasons, reviews};

/// Imports one export with `--verified`, and returns the report and the reviews by author.
fn imported(name: &str, export: &str) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), name, export);
    let (status, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(status, Some(0), "{report}");
    let mut reviews = reviews(folder.path());
    reviews.sort_by_key(|review| review["author"].as_str().unwrap().to_owned());
    let written = std::fs::read_to_string(folder.path().join("reviews.json")).unwrap();
    for kept in ["@", "203.0.113.", "2001:db8:"] {
        assert!(!written.contains(kept), "{kept} is in {written}");
    }
    (report, reviews)
}

/// Asserts what an export became: its format, and of each review author, stars, day, text, source and whether it is
/// published.
fn becomes(
    export: &str,
    kind: &str,
    expected: &[(&str, u64, &str, &str, &str, bool)],
) -> Vec<Value> {
    let (report, reviews) = imported("export", export);
    assert_eq!(report["sources"][0]["kind"], kind, "{report}");
    let hidden = expected.iter().filter(|(.., published)| !published).count();
    assert_eq!(report["hidden_count"], hidden, "{report}");
    let found: Vec<Value> = reviews
        .iter()
        .map(|review| {
            json!([
                review["author"],
                review["rating"],
                review["date"],
                review["text"],
                review["source"],
                review["verified"]
            ])
        })
        .collect();
    let expected: Vec<Value> = expected
        .iter()
        .map(|(author, stars, date, text, source, verified)| {
            json!([author, stars, date, text, source, verified])
        })
        .collect();
    assert_eq!(found, expected, "{report}");
    reviews
}

#[test]
fn judge_me_publishes_what_is_curated_ok() {
    let reviews = becomes(
        "title,body,rating,review_date,source,curated,reviewer_name,reviewer_email,product_id,product_handle,reply,reply_date,picture_urls,ip_address,location\n\
         Lovely,Fits well.,5,2024-11-02 10:17:43 UTC,email,ok,Ann,ann@a.example,77,mug,Thank you!,2024-11-03 09:00:00 UTC,,203.0.113.7,Berlin\n\
         ,Buy pills.,1,2024-11-03 10:17:43 UTC,web,spam,Bob,bob@b.example,77,mug,,,,2001:db8::1,\n\
         ,Waiting.,4,2024-11-04 10:17:43 UTC,web,not-yet,Cy,cy@c.example,77,mug,,,,203.0.113.8,\n",
        "Judge.me CSV",
        &[
            (
                "Ann",
                5,
                "2024-11-02",
                "Lovely\n\nFits well.",
                "judge.me",
                true,
            ),
            ("Bob", 1, "2024-11-03", "Buy pills.", "judge.me", false),
            ("Cy", 4, "2024-11-04", "Waiting.", "judge.me", false),
        ],
    );
    let reply = json!({"text": "Thank you!", "date": "2024-11-03"});
    assert_eq!(reviews[0]["owner_reply"], reply);
}

#[test]
fn loox_publishes_what_is_active_and_knows_two_names() {
    becomes(
        "id,status,rating,email,nickname,full_name,review,date,productId,handle,img,variant,verified_purchase\n\
         1,Active,5,a@a.example,,Ann Lee,Good mug.,2024-03-04T10:11:12.345Z,7,mug,,,true\n\
         2,Hidden,2,b@b.example,Bob,Robert Oak,Broken.,2024-03-05T10:11:12.345Z,7,mug,,,true\n",
        "Loox CSV",
        &[
            ("Ann Lee", 5, "2024-03-04", "Good mug.", "loox", true),
            ("Bob", 2, "2024-03-05", "Broken.", "loox", false),
        ],
    );
}

#[test]
fn okendo_publishes_what_is_approved() {
    becomes(
        "Review ID,Product ID,Product Name,Rating,Title,Body,Reviewer Name,Is Verified Buyer,Date Created,Status\n\
         r1,7,Mug,4,,Solid.,Ann,true,2024-03-04T10:11:12Z,approved\n\
         r2,7,Mug,1,,No.,Bob,true,2024-03-05T10:11:12Z,rejected\n\
         r3,7,Mug,2,,So so.,Cy,true,2024-03-06T10:11:12Z,\n",
        "Okendo CSV",
        &[
            ("Ann", 4, "2024-03-04", "Solid.", "okendo", true),
            ("Bob", 1, "2024-03-05", "No.", "okendo", false),
            ("Cy", 2, "2024-03-06", "So so.", "okendo", false),
        ],
    );
}

#[test]
fn yotpo_brings_replies_and_says_who_bought() {
    let reviews = becomes(
        "Review ID,Review Title,Review Content,Review Score,Date,Product ID,Product Title,Product URL,Display Name,Email,Verified Purchase,Comment Content\n\
         9,Nice,Warm and soft.,5,24/03/2024,7,Socks,https://shop.example/socks,Ann,a@a.example,Yes,Thanks!\n",
        "Yotpo CSV",
        &[(
            "Ann",
            5,
            "2024-03-24",
            "Nice\n\nWarm and soft.",
            "yotpo",
            true,
        )],
    );
    assert_eq!(reviews[0]["owner_reply"]["text"], "Thanks!");
    assert_eq!(
        reviews[0]["source_url"],
        Value::Null,
        "the product's address is not the review's"
    );
}

#[test]
fn shopify_publishes_what_is_in_the_state_published() {
    becomes(
        "product_handle,state,rating,title,author,email,location,body,reply,created_at,replied_at\n\
         mug,published,5,Great,Ann,a@a.example,Bonn,Keeps warm.,Thank you.,2023-06-01 10:00:00 -0400,2023-06-02 10:00:00 -0400\n\
         mug,unpublished,1,,Bob,b@b.example,,Bad.,,2023-06-02 10:00:00 -0400,\n\
         mug,spam,1,,Cy,c@c.example,,Casino!,,2023-06-03 10:00:00 -0400,\n\
         mug,flagged,1,,Dee,d@d.example,,Rude.,,2023-06-04 10:00:00 -0400,\n",
        "Shopify Product Reviews CSV",
        &[
            (
                "Ann",
                5,
                "2023-06-01",
                "Great\n\nKeeps warm.",
                "shopify",
                true,
            ),
            ("Bob", 1, "2023-06-02", "Bad.", "shopify", false),
            ("Cy", 1, "2023-06-03", "Casino!", "shopify", false),
            ("Dee", 1, "2023-06-04", "Rude.", "shopify", false),
        ],
    );
}

#[test]
fn stamped_publishes_what_is_published() {
    becomes(
        "product_id,rating,author,email,title,body,created_at,location,productName,reply,repliedat,published\n\
         7,5,Ann,a@a.example,,Good.,2024-03-04,,Mug,,,true\n\
         7,2,Bob,b@b.example,,Bad.,2024-03-05,,Mug,,,false\n",
        "Stamped CSV",
        &[
            ("Ann", 5, "2024-03-04", "Good.", "stamped", true),
            ("Bob", 2, "2024-03-05", "Bad.", "stamped", false),
        ],
    );
}

#[test]
fn reviews_io_has_the_author_in_two_columns() {
    becomes(
        "store_review_id,reviewer_first_name,reviewer_last_name,rating,comments,date_created,branch\n\
         1,Ann,Lee,5,Quick.,2024-03-04 09:00:00,Main\n\
         2,Bob,,3,Fair.,2024-03-05 09:00:00,Main\n",
        "Reviews.io CSV",
        &[
            ("Ann Lee", 5, "2024-03-04", "Quick.", "reviews.io", true),
            ("Bob", 3, "2024-03-05", "Fair.", "reviews.io", true),
        ],
    );
}

#[test]
fn woocommerce_publishes_approved_comments_and_keeps_no_address() {
    becomes(
        "comment_ID,comment_post_ID,comment_author,comment_author_email,comment_date,comment_content,comment_approved,rating,verified\n\
         11,5,Ann,a@a.example,2024-03-04 08:00:00,Good.,1,5,1\n\
         12,5,bob@b.example,bob@b.example,2024-03-05 08:00:00,Bad.,0,1,1\n\
         13,5,203.0.113.9,c@c.example,2024-03-06 08:00:00,Pills.,spam,5,1\n\
         14,5,Dee <dee@d.example>,dee@d.example,2024-03-07 08:00:00,Fine.,1,4,1\n\
         15,5,Eve,e@e.example,2024-03-08 08:00:00,Gone.,trash,4,1\n",
        "WooCommerce comments",
        &[
            ("Ann", 5, "2024-03-04", "Good.", "woocommerce", true),
            ("Anonymous", 5, "2024-03-06", "Pills.", "woocommerce", false),
            ("Anonymous", 1, "2024-03-05", "Bad.", "woocommerce", false),
            ("Dee", 4, "2024-03-07", "Fine.", "woocommerce", true),
            ("Eve", 4, "2024-03-08", "Gone.", "woocommerce", false),
        ],
    );
}

const FACEBOOK: &str = r#"{"data":[
  {"created_time":"2023-05-01T10:00:00+0000","recommendation_type":"positive","review_text":"Warmly recommended.","reviewer":{"name":"Ann","id":"1"}},
  {"created_time":"2017-05-01T10:00:00+0000","rating":4,"review_text":"Good.","reviewer":{"name":"Bob","id":"2"}},
  {"created_time":"2023-05-02T10:00:00+0000","recommendation_type":"negative"}
],"paging":{"cursors":{"before":"x"}}}"#;

#[test]
fn facebooks_recommendations_have_stars_where_the_owner_says_so_only() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "facebook.json", FACEBOOK);
    let (status, report) = import(folder.path(), &[&source, "--dry-run"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["kind"], "Facebook");
    let why = "rating: is missing, as in a recommendation; --map rating=recommendation_type takes positive for 5, negative for 1";
    assert_eq!(reasons(&report), [format!("2: {why}"), format!("4: {why}")]);
    assert_eq!(report["review_count"], 1, "{report}");
    let mapped = file(
        folder.path(),
        "new.json",
        FACEBOOK.replace("\"rating\":4", "\"recommendation_type\":\"positive\""),
    );
    let (status, report) = import(
        folder.path(),
        &[&mapped, "--map", "rating=recommendation_type"],
    );
    assert_eq!(status, Some(0), "{report}");
    let reviews = reviews(folder.path());
    let found: Vec<Value> = reviews
        .iter()
        .map(|review| {
            json!([
                review["author"],
                review["rating"],
                review["date"],
                review["source"]
            ])
        })
        .collect();
    assert_eq!(
        found,
        [
            json!(["A Facebook user", 1, "2023-05-02", "facebook"]),
            json!(["Ann", 5, "2023-05-01", "facebook"]),
            json!(["Bob", 5, "2017-05-01", "facebook"])
        ]
    );
}

#[test]
fn a_review_that_its_platform_hides_later_is_published_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let table = |status: &str| {
        format!("id,name,stars,date,text,status\n1,Ann,5,2024-03-04,Good.,{status}\n")
    };
    let source = file(folder.path(), "a.csv", table("published"));
    let (_, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(
        (&report["published_count"], &report["hidden_count"]),
        (&json!(1), &json!(0))
    );
    let source = file(folder.path(), "b.csv", table("spam"));
    let output = raw(folder.path(), &[&source, "--verify-existing"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("\n1 review is hidden at its source, and not published here either\n1 review: 0 published, 1 not published"),
        "{text}"
    );
}

#[test]
fn how_a_review_came_in_is_not_where_it_was_left_and_the_flag_wins() {
    let folder = tempfile::tempdir().unwrap();
    let table =
        "name,stars,date,text,source\nAnn,5,2024-03-04,Good.,email\nBob,4,2024-03-05,Fair.,Yelp\n";
    let source = file(folder.path(), "a.csv", table);
    let sources = |arguments: &[&str]| -> Vec<Value> {
        let folder = tempfile::tempdir().unwrap();
        let (status, report) = import(folder.path(), &[&[source.as_str()], arguments].concat());
        assert_eq!(status, Some(0), "{report}");
        reviews(folder.path())
            .iter()
            .map(|review| review["source"].clone())
            .collect()
    };
    assert_eq!(sources(&[]), ["Yelp", "import"]);
    assert_eq!(
        sources(&["--source", "provenexpert"]),
        ["provenexpert", "provenexpert"]
    );
}

#[test]
fn a_german_table_is_read_by_its_values() {
    for (table, text) in [
        (
            "Datum;Name;Sterne;Bewertung\n05.03.2024;Jürgen;4,0;Sehr gut.\n",
            "Sehr gut.",
        ),
        (
            "Datum;Name;Note;Kommentar\n05.03.2024;Jürgen;4;Sehr gut.\n",
            "Sehr gut.",
        ),
        (
            "Datum;Name;Bewertung;Bewertungstext\n05.03.2024;Jürgen;4;Sehr gut.\n",
            "Sehr gut.",
        ),
        ("Datum;Name;Bewertung\n20240305;Jürgen;4\n", ""),
        ("Datum;Name;Bewertung\n45356;Jürgen;4\n", ""),
        ("Datum;Name;Bewertung\n45356.75;Jürgen;4\n", ""),
    ] {
        becomes(
            table,
            "CSV",
            &[("Jürgen", 4, "2024-03-05", text, "import", true)],
        );
    }
}

#[test]
fn a_workbook_is_read_from_its_first_filled_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(folder.path(), &[&fixture("workbook.xlsx")]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["encoding"], Value::Null);
    assert_eq!(reasons(&report), ["5: rating: is missing"]);
    let reviews = reviews(folder.path());
    let found: Vec<Value> = reviews
        .iter()
        .map(|review| {
            json!([
                review["author"],
                review["rating"],
                review["date"],
                review["text"]
            ])
        })
        .collect();
    assert_eq!(
        found,
        [
            json!(["Zoë Krämer", 3, "2024-03-06", "Lange gewartet,\nsonst gut."]),
            json!(["Jürgen Weiß", 5, "2024-03-05", "Sehr gut beraten."])
        ]
    );
}

#[test]
fn a_takeout_of_reviews_that_one_wrote_is_refused_with_the_right_export() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(
        folder.path(),
        "Reviews.json",
        r#"{"type":"FeatureCollection","features":[{"geometry":{"coordinates":[13.4,52.5],"type":"Point"},"properties":{"date":"2024-03-04T10:00:00Z","five_star_rating_published":5,"review_text_published":"Good."},"type":"Feature"}]}"#,
    );
    let output = raw(folder.path(), &[&source]);
    assert_eq!(output.status.code(), Some(65));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("is Google Maps' list of the reviews that you wrote about others: in Takeout choose \"Google Business Profile\" instead"),
        "{message}"
    );
}

#[test]
fn a_table_of_no_known_platform_publishes_only_what_its_status_calls_published() {
    for (status, is_published) in [
        ("published", true),
        ("Veröffentlicht", true),
        ("", true),
        ("Entwurf", false),
        ("Awaiting moderation", false),
        ("nicht veröffentlicht", false),
    ] {
        let table =
            format!("Name,Stars,Date,Review,Status\nAnn,5,2024-03-04,Good work.,{status}\n");
        let (report, reviews) = imported("a.csv", &table);
        assert_eq!(reviews[0]["verified"], is_published, "{status}: {report}");
    }
}
