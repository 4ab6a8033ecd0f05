//! A search by a tool finds what the same search by REST finds.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mcp::Catalog;
use crate::mcp::tests::{call, catalog};
use crate::search::query::{Buffers, parse_query};
use crate::search::run::{Scratch, run};

/// A search as REST answers it: matched, ids in order, the cursor.
fn rest(catalog: &Catalog, query: &str) -> Option<(u32, Vec<String>, Option<String>)> {
    let mut buffers = Buffers::default();
    let query = parse_query(query.as_bytes(), &mut buffers).ok()?;
    let index = &catalog.snapshot.index;
    let page = run(index, &query, &mut Scratch::default());
    let ids = page
        .rows
        .iter()
        .map(|row| index.id(*row).to_owned())
        .collect();
    Some((page.matched, ids, page.next.map(|cursor| cursor.render())))
}

fn same(catalog: &Catalog, arguments: &Value) {
    let pairs = arguments
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
            format!("{name}={encoded}")
        });
    let expected = rest(catalog, &pairs.collect::<Vec<_>>().join("&"));
    let answer = call(catalog, "search_reviews", arguments.clone());
    let page = &answer["structuredContent"];
    let Some((matched, ids, next)) = expected else {
        assert_eq!(answer["isError"], true, "{arguments}");
        return;
    };
    if answer["isError"] == true {
        // A name that stands for nothing or for several is an error here, and an empty page there.
        let lines = answer["content"][0]["text"].as_str().expect("a text");
        assert!(matched == 0 && lines.contains("mentions_"), "{arguments}");
        return;
    }
    let reviews = page["reviews"].as_array().expect("reviews");
    let found: Vec<&str> = reviews
        .iter()
        .filter_map(|review| review["id"].as_str())
        .collect();
    assert_eq!(page["matched"], matched, "{arguments}");
    if page.get("closest").is_some() {
        assert!(matched == 0 && page["next_cursor"].is_null(), "{arguments}");
        return;
    }
    // A page that grows too large ends early, and its cursor goes on from there.
    assert_eq!(found, ids[..found.len()], "{arguments}");
    if found.len() == ids.len() {
        assert_eq!(page["next_cursor"].as_str(), next.as_deref(), "{arguments}");
    } else {
        assert!(
            page["next_cursor"].is_string() && !found.is_empty(),
            "{arguments}"
        );
    }
}

fn filters() -> impl Strategy<Value = Value> {
    let optional =
        |strategy: BoxedStrategy<Value>| prop_oneof![3 => Just(None), 1 => strategy.prop_map(Some)];
    let date = || {
        "20(19|2[0-6])-(0[1-9]|1[0-3])-([0-2][0-9]|3[01])"
            .prop_map(Value::from)
            .boxed()
    };
    let words = [
        "the",
        "called",
        "EXPENSIVE",
        "é",
        "a",
        "divorce",
        "!",
        "no such words",
        "",
    ];
    let people = ["Ingrid", "adaeze okafor", "Nobody", "Ms. Thornquist"];
    let services = ["divorce", "Probate", "estate-planning", "catering"];
    (
        optional((0..7u8).prop_map(Value::from).boxed()),
        optional(prop::sample::select(vec![json!(1), json!(3), json!(4.5), json!(5.5)]).boxed()),
        optional(date()),
        optional(date()),
        optional(
            prop::sample::select(words.to_vec())
                .prop_map(Value::from)
                .boxed(),
        ),
        optional(
            prop::sample::select(people.to_vec())
                .prop_map(Value::from)
                .boxed(),
        ),
        optional(
            prop::sample::select(services.to_vec())
                .prop_map(Value::from)
                .boxed(),
        ),
        optional((0..103u8).prop_map(Value::from).boxed()),
        optional(
            prop::sample::select(vec!["newest", "oldest", "highest", "lowest", "best"])
                .prop_map(Value::from)
                .boxed(),
        ),
    )
        .prop_map(|parts| {
            let named = [
                ("rating", parts.0),
                ("min_rating", parts.1),
                ("since", parts.2),
                ("until", parts.3),
                ("query", parts.4),
                ("mentions_technician", parts.5),
                ("mentions_service", parts.6),
                ("limit", parts.7),
                ("sort", parts.8),
            ];
            let members = named
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)));
            Value::Object(members.collect())
        })
}

proptest! {
    #[test]
    fn search_answers_as_rest_does(arguments in filters()) {
        same(catalog(), &arguments);
    }
}
