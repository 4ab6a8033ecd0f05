//! Searches by aspect: the words that the counts rest on, alone and with every filter.

use super::{ask, dataset_of_texts, pages, sample};
use crate::dataset;

#[test]
fn every_aspect_leads_to_the_words_it_was_counted_from() {
    let pages = sample();
    let insights = pages.insights.as_ref().expect("derived");
    assert!(insights.aspects.len() > 8);
    for aspect in &insights.aspects {
        let page = ask(&pages, &format!("aspect={}&limit=100", aspect.id)).expect("a page");
        assert_eq!(
            page.matches("<article").count(),
            aspect.rows(None).len(),
            "{}",
            aspect.id
        );
        assert!(
            page.matches("<mark>").count() >= aspect.rows(None).len(),
            "{}",
            aspect.id
        );
        let critical = crate::pages::insights::Polarity::Negative;
        let page = ask(
            &pages,
            &format!("aspect={}&polarity=negative&limit=100", aspect.id),
        )
        .expect("a page");
        assert_eq!(
            page.matches("<article").count(),
            aspect.rows(Some(critical)).len(),
            "{}",
            aspect.id
        );
    }
}

#[test]
fn a_choice_of_the_evidence_is_told_with_every_count() {
    let mut files = dataset_of_texts("The fees were fair, but the lawyer was late.", 300);
    files.taxonomy = dataset::embedded().taxonomy;
    let pages = pages(files);
    let insights = pages.insights.as_ref().expect("derived");
    let (kept, all) = insights
        .aspects
        .iter()
        .find(|aspect| aspect.id == "fees")
        .expect("mentioned")
        .kept_of(None);
    assert!(kept >= 200 && kept < all && all >= 300, "{kept} of {all}");
    let choice = format!("among the {kept} examples kept (of {all} mentions)");
    for query in [
        "aspect=fees",
        "aspect=fees&rating=5",
        "aspect=fees&query=late",
    ] {
        let page = ask(&pages, query).expect("a page");
        let (_, heading) = page.split_once("<h2 id=\"found\">").expect("a heading");
        let (heading, _) = heading.split_once('<').expect("its end");
        assert!(heading.ends_with(&choice), "{query}: {heading}");
    }
    let none = ask(&pages, "aspect=fees&rating=1").expect("a page");
    assert!(none.contains(&format!("No review {choice}")));
}

#[test]
fn an_aspect_combines_with_every_filter_and_goes_on_page_by_page() {
    let pages = sample();
    let ids = |page: &str| -> Vec<String> {
        page.split("aria-labelledby=\"r-")
            .skip(1)
            .map(|rest| rest[..26].to_owned())
            .collect()
    };
    let all = ids(&ask(&pages, "aspect=fees&rating=1&limit=100").expect("a page"));
    let fees = ids(&ask(&pages, "aspect=fees&limit=100").expect("a page"));
    let ones = ids(&ask(&pages, "rating=1&limit=100").expect("a page"));
    let both: Vec<String> = fees
        .iter()
        .filter(|id| ones.contains(id))
        .cloned()
        .collect();
    assert!(all == both && !all.is_empty());
    for sort in ["newest", "oldest", "highest", "lowest"] {
        let whole =
            ids(&ask(&pages, &format!("aspect=fees&limit=100&sort={sort}")).expect("a page"));
        let mut next = format!("aspect=fees&limit=4&sort={sort}");
        let mut joined = Vec::new();
        loop {
            let page = ask(&pages, &next).expect("a page");
            joined.extend(ids(&page));
            let link = page.split_once("\" rel=\"next\"").map(|(before, _)| before);
            let Some(href) = link.and_then(|before| before.rsplit_once("href=\"/?")) else {
                break;
            };
            next = href.1.replace("&#38;", "&");
        }
        assert!(whole == joined && whole.len() == fees.len(), "{sort}");
    }
}

#[test]
fn aspects_are_judged_as_strictly_as_other_parameters() {
    let pages = sample();
    for (query, words) in [
        ("aspect=nothing", "must be the id of a subject"),
        ("aspect=%zz", "must have two hexadecimal digits"),
        (
            "aspect=fees&polarity=good",
            "must be positive, neutral or negative",
        ),
        ("aspect=fees&aspect=court", "must be given once"),
        ("aspect=fees&rating=0", "must be an integer from 1 to 5"),
    ] {
        let page = ask(&pages, query).expect_err("an issue");
        assert!(page.contains(words), "{query}");
    }
}
