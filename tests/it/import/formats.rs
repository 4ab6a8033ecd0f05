//! The exports of platforms: found by their columns, and what their owners have hidden stays unpublished.

use serde_json::{Value, json};

use super::{file, fixture, import, reasons, reviews, says};

/// Each review as author, stars, day, text, source and whether it is published.
fn lines(reviews: &[Value]) -> Vec<String> {
    let keys = ["author", "rating", "date", "text", "source", "verified"];
    let line = |review: &Value| {
        let values = keys.map(|key| match &review[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        values.join(" | ")
    };
    reviews.iter().map(line).collect()
}

/// Imports an export with `--verified`, and asserts its format and what it became, newest first.
fn becomes(export: &str, kind: &str, expected: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "export", export);
    let (status, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["kind"], kind, "{report}");
    let reviews = reviews(folder.path());
    assert_eq!(lines(&reviews), expected, "{report}");
    let hidden = expected.iter().filter(|line| line.ends_with("false"));
    assert_eq!(report["hidden_count"], hidden.count(), "{report}");
    let written = std::fs::read_to_string(folder.path().join("reviews.json")).unwrap();
    for kept in ["@", "203.0.113.", "2001:db8:"] {
        assert!(!written.contains(kept), "{kept} is in {written}");
    }
    reviews
}

#[test]
fn each_platforms_status_decides_and_no_address_is_kept() {
    for (kind, export, expected) in [
        (
            "Loox CSV",
            "id,status,rating,email,nickname,full_name,review,date,productId,handle,img,variant,verified_purchase\n\
             1,Active,5,a@a.example,,Ann Lee,Good mug.,2024-03-05T10:11:12.345Z,7,mug,,,true\n\
             2,Hidden,2,b@b.example,Bob,Robert Oak,Broken.,2024-03-04T10:11:12.345Z,7,mug,,,true\n",
            &[
                "Ann Lee | 5 | 2024-03-05 | Good mug. | loox | true",
                "Bob | 2 | 2024-03-04 | Broken. | loox | false",
            ][..],
        ),
        (
            "Okendo CSV",
            "Review ID,Product ID,Product Name,Rating,Title,Body,Reviewer Name,Is Verified Buyer,Date Created,Status\n\
             r1,7,Mug,4,,Solid.,Ann,true,2024-03-06T10:11:12Z,approved\n\
             r2,7,Mug,1,,No.,Bob,true,2024-03-05T10:11:12Z,rejected\n\
             r3,7,Mug,2,,So so.,Cy,true,2024-03-04T10:11:12Z,\n",
            &[
                "Ann | 4 | 2024-03-06 | Solid. | okendo | true",
                "Bob | 1 | 2024-03-05 | No. | okendo | false",
                "Cy | 2 | 2024-03-04 | So so. | okendo | false",
            ],
        ),
        (
            "Shopify Product Reviews CSV",
            "product_handle,state,rating,title,author,email,location,body,reply,created_at,replied_at\n\
             mug,published,5,Great,Ann,a@a.example,Bonn,Keeps warm.,Thank you.,2023-06-04 10:00:00 -0400,2023-06-05 10:00:00 -0400\n\
             mug,spam,1,,Cy,c@c.example,,Casino!,,2023-06-02 10:00:00 -0400,\n",
            &[
                "Ann | 5 | 2023-06-04 | Great\n\nKeeps warm. | shopify | true",
                "Cy | 1 | 2023-06-02 | Casino! | shopify | false",
            ],
        ),
        (
            "Stamped CSV",
            "product_id,rating,author,email,title,body,created_at,location,productName,reply,repliedat,published\n\
             7,5,Ann,a@a.example,,Good.,2024-03-05,,Mug,,,true\n\
             7,2,Bob,b@b.example,,Bad.,2024-03-04,,Mug,,,false\n",
            &[
                "Ann | 5 | 2024-03-05 | Good. | stamped | true",
                "Bob | 2 | 2024-03-04 | Bad. | stamped | false",
            ],
        ),
        (
            "Reviews.io CSV",
            "store_review_id,reviewer_first_name,reviewer_last_name,rating,comments,date_created,branch\n\
             1,Ann,Lee,5,Quick.,2024-03-05 09:00:00,Main\n\
             2,Bob,,3,Fair.,2024-03-04 09:00:00,Main\n",
            &[
                "Ann Lee | 5 | 2024-03-05 | Quick. | reviews.io | true",
                "Bob | 3 | 2024-03-04 | Fair. | reviews.io | true",
            ],
        ),
        (
            "WooCommerce comments",
            "comment_ID,comment_post_ID,comment_author,comment_author_email,comment_date,comment_content,comment_approved,rating,verified\n\
             11,5,Ann,a@a.example,2024-03-08 08:00:00,Good.,1,5,1\n\
             12,5,bob@b.example,bob@b.example,2024-03-07 08:00:00,Bad.,0,1,1\n\
             13,5,203.0.113.9,c@c.example,2024-03-06 08:00:00,Pills.,spam,5,1\n\
             14,5,Dee <dee@d.example>,dee@d.example,2024-03-05 08:00:00,Fine.,1,4,1\n",
            &[
                "Ann | 5 | 2024-03-08 | Good. | woocommerce | true",
                "Anonymous | 1 | 2024-03-07 | Bad. | woocommerce | false",
                "Anonymous | 5 | 2024-03-06 | Pills. | woocommerce | false",
                "Dee | 4 | 2024-03-05 | Fine. | woocommerce | true",
            ],
        ),
    ] {
        becomes(export, kind, expected);
    }
}

#[test]
fn judge_me_and_yotpo_bring_replies() {
    let reviews = becomes(
        "title,body,rating,review_date,source,curated,reviewer_name,reviewer_email,product_id,product_handle,reply,reply_date,picture_urls,ip_address,location\n\
         Lovely,Fits well.,5,2024-11-04 10:17:43 UTC,email,ok,Ann,ann@a.example,77,mug,Thank you!,2024-11-05 09:00:00 UTC,,203.0.113.7,Berlin\n\
         ,Buy pills.,1,2024-11-03 10:17:43 UTC,web,spam,Bob,bob@b.example,77,mug,,,,2001:db8::1,\n\
         ,Waiting.,4,2024-11-02 10:17:43 UTC,web,not-yet,Cy,cy@c.example,77,mug,,,,203.0.113.8,\n",
        "Judge.me CSV",
        &[
            "Ann | 5 | 2024-11-04 | Lovely\n\nFits well. | judge.me | true",
            "Bob | 1 | 2024-11-03 | Buy pills. | judge.me | false",
            "Cy | 4 | 2024-11-02 | Waiting. | judge.me | false",
        ],
    );
    let reply = json!({"text": "Thank you!", "date": "2024-11-05"});
    assert_eq!(reviews[0]["owner_reply"], reply);
    let reviews = becomes(
        "Review ID,Review Title,Review Content,Review Score,Date,Product ID,Product Title,Product URL,Display Name,Email,Verified Purchase,Comment Content\n\
         9,Nice,Warm and soft.,5,24/03/2024,7,Socks,https://shop.example/socks,Ann,a@a.example,Yes,Thanks!\n",
        "Yotpo CSV",
        &["Ann | 5 | 2024-03-24 | Nice\n\nWarm and soft. | yotpo | true"],
    );
    assert_eq!(reviews[0]["owner_reply"]["text"], "Thanks!");
    assert_eq!(
        reviews[0]["source_url"],
        Value::Null,
        "that is the product's address"
    );
}

const FACEBOOK: &str = r#"{"data":[
  {"created_time":"2023-05-01T10:00:00+0000","recommendation_type":"positive","review_text":"Warmly recommended.","reviewer":{"name":"Ann","id":"1"}},
  {"created_time":"2017-05-01T10:00:00+0000","rating":4,"review_text":"Good.","reviewer":{"name":"Bob","id":"2"}},
  {"created_time":"2023-05-02T10:00:00+0000","recommendation_type":"negative"}
],"paging":{"cursors":{"before":"x"}}}"#;

#[test]
fn facebooks_recommendations_have_stars_only_where_the_owner_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "facebook.json", FACEBOOK);
    let (status, report) = import(folder.path(), &[&source, "--dry-run"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["kind"], "Facebook");
    let why = "rating: is missing, as in a recommendation; --map rating=recommendation_type takes positive for 5, negative for 1";
    assert_eq!(reasons(&report), [format!("2: {why}"), format!("4: {why}")]);
    assert_eq!(report["review_count"], 1, "{report}");
    let all = FACEBOOK.replace("\"rating\":4", "\"recommendation_type\":\"positive\"");
    let source = file(folder.path(), "new.json", all);
    let arguments = [&source, "--map", "rating=recommendation_type"];
    let (status, report) = import(folder.path(), &arguments);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(
        lines(&reviews(folder.path())),
        [
            "A Facebook user | 1 | 2023-05-02 |  | facebook | false",
            "Ann | 5 | 2023-05-01 | Warmly recommended. | facebook | false",
            "Bob | 5 | 2017-05-01 | Good. | facebook | false",
        ]
    );
}

#[test]
fn a_review_that_its_platform_hides_later_is_no_longer_published() {
    let folder = tempfile::tempdir().unwrap();
    let table = |status: &str| {
        format!("id,name,stars,date,text,status\n1,Ann,5,2024-03-04,Good.,{status}\n")
    };
    let source = file(folder.path(), "a.csv", table("published"));
    let (_, report) = import(folder.path(), &[&source, "--verified"]);
    assert_eq!(report["published_count"], 1);
    let source = file(folder.path(), "b.csv", table("spam"));
    says(
        folder.path(),
        &[&source, "--verify-existing"],
        0,
        "\n0 of 1 are verified and so published; 0 newly verified, 1 hidden at their source\n",
    );
}

#[test]
fn a_channel_is_no_platform_and_the_flag_wins() {
    let folder = tempfile::tempdir().unwrap();
    let table =
        "name,stars,date,text,source\nAnn,5,2024-03-04,Good.,email\nBob,4,2024-03-05,Fair.,Yelp\n";
    let source = file(folder.path(), "a.csv", table);
    for (into, flags, expected) in [
        ("a", &[][..], ["Yelp", "import"]),
        ("b", &["--source", "provenexpert"], ["provenexpert"; 2]),
    ] {
        let into = folder.path().join(into);
        let (status, report) = import(&into, &[&[source.as_str()], flags].concat());
        assert_eq!(status, Some(0), "{report}");
        let found = reviews(&into);
        assert_eq!([&found[0]["source"], &found[1]["source"]], expected);
    }
}

#[test]
fn a_generic_table_publishes_only_what_its_status_calls_published() {
    for (status, is_published) in [
        ("published", true),
        ("Veröffentlicht", true),
        ("", true),
        ("Entwurf", false),
        ("nicht veröffentlicht", false),
    ] {
        let table =
            format!("Name,Stars,Date,Review,Status\nAnn,5,2024-03-04,Good work.,{status}\n");
        let expected = format!("Ann | 5 | 2024-03-04 | Good work. | import | {is_published}");
        becomes(&table, "CSV", &[&expected]);
    }
}

#[test]
fn a_workbook_is_read_from_its_first_filled_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = import(folder.path(), &[&fixture("workbook.xlsx")]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["sources"][0]["encoding"], Value::Null);
    assert_eq!(reasons(&report), ["5: rating: is missing"]);
    assert_eq!(
        lines(&reviews(folder.path())),
        [
            "Zoë Krämer | 3 | 2024-03-06 | Lange gewartet,\nsonst gut. | import | false",
            "Jürgen Weiß | 5 | 2024-03-05 | Sehr gut beraten. | import | false",
        ]
    );
}
