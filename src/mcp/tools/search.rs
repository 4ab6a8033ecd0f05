//! Search tools: they use the validation, the index and the envelope of the REST search.

use std::borrow::Cow;
use std::cell::RefCell;

use serde_json::Value;

use super::Members;
use super::arguments::{Arguments, AskedName, is_added_by_client, problem_of, unknown_argument};
use super::changed::list_changed;
use super::lookup::title;
use crate::mcp::catalog::{Catalog, Named};
use crate::mcp::clean::clean;
use crate::mcp::request_work::RequestWork;
use crate::mcp::result::{ANSWER_BYTES_MAX, NOT_READY, ResultJson, add_member, add_text};
use crate::mcp::short_form::BYTES_MAX;
use crate::model::Row;
use crate::search::envelope::{HEAD_BYTES_MAX, push_head, push_tail};
use crate::search::filter::{Cursor, Filter, Query, Sort, TERMS_MAX, Term, Words, is_of_word};
use crate::search::fold::{find_folded, fold};
use crate::search::hints::{Hint, hints};
use crate::search::include;
use crate::search::issue::{Code, Issue, Issues};
use crate::search::names::words_of_name;
use crate::search::query::{Buffers, Builder, Parameter};
use crate::search::question::is_negation;
use crate::search::rank::{self, can_rank, telling_terms};
use crate::search::resolved::{add_resolved_names, resolved_names};
use crate::search::run::{Page, Scratch, cursor_at, run};
use crate::snapshot::StoredReview;
use crate::wire::json::{Array, Object, push_string};
use crate::wire::sentence::sentences;
use crate::wire::text::{cut, truncate};

/// Largest number of found words in the title of a result.
const FOUND_MAX: usize = 5;

/// Bytes after which a found word is cut in a title: scripts without spaces have long ones.
const FOUND_BYTES_MAX: usize = 60;

/// Longest hint in bytes; the rest of a longer one is left out.
const HINT_BYTES_MAX: usize = 3_000;

/// Bytes at the beginning of a text in which the words of a result are looked for.
const SEARCHED_BYTES_MAX: usize = 8_192;

/// Longest snippet of a result, in bytes.
const SNIPPET_BYTES_MAX: usize = 300;

/// Largest number of results of `search`.
const RESULTS_MAX: u8 = 10;

/// Bytes that the JSON of these results seldom exceeds.
const RESULTS_BYTES: usize = 8_192;

thread_local! {
    /// The memory of a thread, which runs one search at a time.
    static MEMORY: RefCell<ToolMemory> = RefCell::default();
}

/// What searches reuse, so that they seldom allocate.
#[derive(Default)]
struct ToolMemory {
    buffers: Buffers,
    scratch: Scratch,
}

/// Runs a search with the same parameters as REST.
pub(super) fn search_reviews(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    MEMORY.with_borrow_mut(|ToolMemory { buffers, scratch }| {
        let query = read_query(members, buffers)?;
        let mut searcher = Searcher {
            catalog,
            scratch,
            work,
        };
        searcher.search(query, has_sort(members))
    })
}

/// Reads the arguments of a search. Unknown ones are issues, unlike in a query string.
fn read_query<'b>(members: &Members, buffers: &'b mut Buffers) -> Result<Query<'b>, Issues> {
    let mut builder = Builder::new(buffers);
    for (name, value) in members {
        if let Some(parameter) = Parameter::named(name) {
            builder.json(parameter, value);
        } else if !is_added_by_client(name) {
            let known = Parameter::all().map(Parameter::name);
            builder.push_issue_with(|| unknown_argument(name, value, &known));
        }
    }
    builder.finish()
}

/// Tells whether the client asks for an order.
fn has_sort(members: &Members) -> bool {
    match members.get(Parameter::Sort.name()) {
        None | Some(Value::Null) => false,
        Some(sort) => *sort != "",
    }
}

/// One call of `search_reviews`.
struct Searcher<'c> {
    catalog: &'c Catalog,
    scratch: &'c mut Scratch,
    work: &'c mut RequestWork,
}

impl Searcher<'_> {
    /// Answers `query`, by relevance if the client asks for no order and its words can be ranked.
    fn search(&mut self, mut query: Query<'_>, has_sort: bool) -> Result<ResultJson, Issues> {
        if let Some(json) = self.search_name_as_word(&query) {
            return Ok(json);
        }
        check_names(self.catalog, &query, self.work)?;
        let is_first_page = query.cursor.is_none();
        if !has_sort && is_first_page && query.filter.words.is_some_and(|words| can_rank(&words)) {
            query.sort = Sort::Relevance;
        }
        let page = self.find(&query);
        if page.matched > 0 {
            let tail = self.tail_of_matches(&query);
            return Ok(render(self.catalog, &page, &query, &tail));
        }
        if let Some(json) = self.search_words_of_name(&query) {
            return Ok(json);
        }
        Ok(self.search_instead(&query, page))
    }

    /// Runs a search that was asked for, or one in its place.
    fn find(&mut self, query: &Query<'_>) -> Page {
        let page = rank::search(&self.catalog.snapshot.index, query, self.scratch);
        self.work.total.spend(self.scratch.spent());
        page
    }

    /// Returns the JSON after the reviews of a page that match.
    fn tail_of_matches(&mut self, query: &Query<'_>) -> Vec<u8> {
        let mut tail = tail_of(self.catalog, query);
        if query.include.distribution {
            let index = &self.catalog.snapshot.index;
            let counts = include::distribution(index, &query.filter, self.scratch).to_string();
            // It takes a search for each number of stars; what the last one took is known.
            self.work.total.spend(5 * self.scratch.spent());
            add_member(&mut tail, "distribution", counts.as_bytes());
        }
        tail
    }

    /// Returns the reviews with the name of an unknown person as words, if there are any: the business may list no people.
    fn search_name_as_word(&mut self, query: &Query<'_>) -> Option<ResultJson> {
        let catalog = self.catalog;
        let name = query.filter.technician?;
        let parameter = Parameter::MentionsTechnician;
        let index = &catalog.snapshot.index;
        let wrong = match index.resolve(parameter, name, &mut self.work.hints) {
            Some(Err(wrong)) if wrong.is_unknown => wrong,
            _ => return None,
        };
        let words = words_and(query, &format!("\"{}\"", name.replace('"', " ")));
        let filter = Filter {
            technician: None,
            words: Some(Words::parse(&words)?),
            ..query.filter
        };
        let by_word = Query { filter, ..*query };
        if check_names(catalog, &by_word, self.work).is_err() {
            return None;
        }
        let page = self.find(&by_word);
        if page.matched == 0 {
            return None;
        }
        let problem = if catalog.technicians.is_empty() {
            "the business lists no people".to_owned()
        } else {
            format!("the person {:?} {}", cut(name), wrong.problem)
        };
        let hint = format!(
            "{problem}; the listed reviews have the name as a word, {} in total.",
            page.matched
        );
        Some(render_with_hint(catalog, &page, &by_word, &hint))
    }

    /// Returns the reviews with words of the name of a listed person or service for which no review is counted: reviews may
    /// use other words than the list. `None` if some are counted, or if none has such words.
    fn search_words_of_name(&mut self, query: &Query<'_>) -> Option<ResultJson> {
        let catalog = self.catalog;
        let index = &catalog.snapshot.index;
        let (parameter, name) = match (query.filter.technician, query.filter.service) {
            (Some(name), None) => (Parameter::MentionsTechnician, name),
            (None, Some(name)) => (Parameter::MentionsService, name),
            _ => return None,
        };
        let Some(Ok(resolved)) = index.resolve(parameter, name, &mut self.work.hints) else {
            return None;
        };
        let counted = Filter {
            technician: query.filter.technician,
            service: query.filter.service,
            ..Filter::default()
        };
        if self.find(&Query::new(counted, Sort::Newest, 1)).matched > 0 {
            return None;
        }
        let words = words_and(query, &words_of_name(resolved.name));
        let filter = Filter {
            technician: None,
            service: None,
            words: Words::parse(&words).filter(can_rank),
            ..query.filter
        };
        filter.words?;
        let mut page = self.find(&Query::new(filter, Sort::Relevance, query.limit));
        if page.rows.is_empty() {
            return None;
        }
        page.matched = 0;
        let hint = format!(
            "no review is counted for {} {}, which is listed; the listed reviews have words of its name, best first.",
            parameter.name(),
            resolved.name
        );
        Some(render_with_hint(catalog, &page, query, &hint))
    }

    /// For a `query` that nothing matches: lists reviews that fit some of its words, and suggests what to try. If `page` was
    /// ranked, it has these reviews already.
    fn search_instead(&mut self, query: &Query<'_>, mut page: Page) -> ResultJson {
        let catalog = self.catalog;
        let index = &catalog.snapshot.index;
        let hints = hints(index, query, self.scratch, &mut self.work.hints);
        if page.ranked.is_none()
            && let Some(fitting) = by_relevance(query)
        {
            page = self.find(&fitting);
            page.matched = 0;
        }
        let hint = advise(catalog, query, &hints, page.ranked.unwrap_or(0));
        render_with_hint(catalog, &page, query, &hint)
    }
}

/// Returns the words of `query`, if it has any, followed by `more`.
fn words_and(query: &Query<'_>, more: &str) -> String {
    match query.filter.words {
        Some(words) => format!("{} {more}", words.as_str()),
        None => more.to_owned(),
    }
}

/// Returns the same search by relevance. Without words, those of its text are ranked, which then need not occur as it
/// stands. `None` if there are no words to rank.
fn by_relevance<'b>(query: &Query<'b>) -> Option<Query<'b>> {
    let mut filter = query.filter;
    if filter.words.is_none() {
        filter.words = Words::parse(filter.text?);
        filter.text = None;
    }
    if !can_rank(&filter.words?) {
        return None;
    }
    Some(Query::new(filter, Sort::Relevance, query.limit))
}

/// Returns suggestions for a search without results: what is listed instead, the hints of the search, and the aspects and
/// services that its words name. `ranked` is the number of reviews that fit some of the words.
fn advise(catalog: &Catalog, query: &Query<'_>, hints: &[Hint<'_>], ranked: u32) -> String {
    let words = query.filter.words.map(|words| words.as_str());
    let asked = words.or(query.filter.text).unwrap_or_default();
    let mut sentences: Vec<String> = Vec::new();
    if ranked > 0 {
        sentences.push(format!(
            "no review matches all of it; the listed reviews have some of the words or forms of them, best first, \
             {ranked} in total"
        ));
        if let Some(word) = negation_left_out(query.filter.words) {
            sentences.push(format!(
                "{word:?} was not searched for, so they may say the opposite"
            ));
        }
    }
    sentences.extend(hints.iter().map(|hint| hint.message.clone()));
    for aspect in &catalog.aspects {
        if let Some(word) = word_that_names(aspect, asked) {
            sentences.push(format!(
                "get_aspect_sentiment quotes what reviews say about {word:?}, and the argument aspect={} finds them",
                aspect.name
            ));
        }
    }
    for service in &catalog.services {
        if let Some(word) = word_that_names(service, asked) {
            sentences.push(format!(
                "{word:?} may mean the service {name}: the argument mentions_service={name} finds its reviews",
                name = service.name
            ));
        }
    }
    if sentences.is_empty() {
        sentences
            .push("no review matches: remove a filter, or try fewer or other words".to_owned());
    }
    format!("{}.", sentences.join("; "))
}

/// Returns the first word of the folded text `asked` that is a name of the entry.
fn word_that_names<'t>(entry: &Named, asked: &'t str) -> Option<&'t str> {
    let mut words = asked.split_whitespace();
    words.find(|word| entry.folded.iter().any(|name| name == word))
}

/// Rejects names that match no person, service or aspect, or several of them, with suggestions. While the insights are not
/// ready, it rejects every aspect and polarity.
fn check_names(catalog: &Catalog, query: &Query<'_>, work: &mut RequestWork) -> Result<(), Issues> {
    let index = &catalog.snapshot.index;
    let mut issues = Issues::default();
    for (parameter, folded) in query.filter.names() {
        let problem = match index.resolve(parameter, folded, &mut work.hints) {
            Some(Ok(_)) => continue,
            Some(Err(wrong)) => {
                let asked = AskedName { parameter, folded };
                problem_of(catalog, asked, wrong, work)
            }
            // Aspects have no rows yet.
            None => NOT_READY.to_owned(),
        };
        let path = Some(parameter.name().into());
        issues.push(Issue::new(path, Code::UnknownValue, problem, folded));
    }
    if let Some(polarity) = query.filter.polarity
        && catalog.snapshot.insights().is_none()
    {
        let path = Some(Parameter::Polarity.name().into());
        let word = polarity.word();
        issues.push(Issue::new(path, Code::UnknownValue, NOT_READY, word));
    }
    issues.into_result()
}

/// Returns the reviews of a day and later, newest first; or what has changed since then, oldest first.
pub(super) fn list_reviews_since(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let mut arguments = Arguments::new(members, &["by", "date", "limit", "cursor"]);
    let date = arguments.text("date", "must be a string of the form YYYY-MM-DD");
    let since = arguments.date("date", date);
    let by = arguments.optional_text("by");
    if !["", "published", "changed"].contains(&by) {
        arguments.push_issue("by", Code::UnknownValue, "must be published or changed", by);
    }
    arguments.finish()?;
    if by == "changed"
        && let Some(since) = since
    {
        return list_changed(catalog, members, since);
    }
    MEMORY.with_borrow_mut(|ToolMemory { buffers, scratch }| {
        let mut builder = Builder::new(buffers);
        for parameter in [Parameter::Limit, Parameter::Cursor] {
            if let Some(value) = members.get(parameter.name()) {
                builder.json(parameter, value);
            }
        }
        let mut query = builder.finish()?;
        query.filter.since = since;
        let page = run(&catalog.snapshot.index, &query, scratch);
        work.total.spend(scratch.spent());
        Ok(render(catalog, &page, &query, &tail_of(catalog, &query)))
    })
}

/// Returns ids, titles, snippets and URLs of the ten reviews that fit the words best, in the format of the `search` tool of
/// ChatGPT connectors. If no review has all words, the titles say which results lack some.
pub(super) fn search(
    catalog: &Catalog,
    members: &Members,
    work: &mut RequestWork,
) -> Result<ResultJson, Issues> {
    let mut arguments = Arguments::new(members, &["query"]);
    let text = arguments.text("query", "must be the words to search for");
    let folded = fold(text);
    let words = Words::parse(&folded);
    if words.is_none() {
        let message = format!("must have at most {TERMS_MAX} words and phrases");
        arguments.push_issue("query", Code::TooMany, message, text);
    }
    arguments.finish()?;
    let filter = Filter {
        words,
        ..Filter::default()
    };
    let is_ranked = words.is_some_and(|words| can_rank(&words));
    let sort = if is_ranked {
        Sort::Relevance
    } else {
        Sort::Newest
    };
    let query = Query::new(filter, sort, RESULTS_MAX);
    let page = MEMORY.with_borrow_mut(|ToolMemory { scratch, .. }| {
        let mut searcher = Searcher {
            catalog,
            scratch,
            work,
        };
        searcher.find(&query)
    });
    // Function words are found in every review, and tell nothing about it.
    let shown = telling_terms(wanted_terms(words));
    let is_exact = page.matched > 0;
    // Ten results fit, however long their authors are.
    let mut json = Vec::with_capacity(RESULTS_BYTES);
    let mut object = Object::begin(&mut json);
    let mut results = Array::begin(object.key("results"));
    for row in &page.rows {
        push_result(results.item(), catalog, *row, &shown, is_exact);
    }
    results.end();
    object.end();
    Ok(ResultJson::of(&json))
}

/// Returns the first negation that a ranked search leaves out as a function word.
fn negation_left_out(words: Option<Words<'_>>) -> Option<&str> {
    let wanted = wanted_terms(words);
    let telling = telling_terms(wanted.clone());
    let left_out = wanted
        .into_iter()
        .find(|term| is_negation(term.text) && !telling.contains(term))?;
    Some(left_out.text)
}

/// Returns the terms of `words` that are not excluded.
fn wanted_terms(words: Option<Words<'_>>) -> Vec<Term<'_>> {
    let terms = words.iter().flat_map(Words::terms);
    terms.filter(|term| !term.is_excluded).collect()
}

/// Appends one result of `search`: an object with id, title, snippet and URL. The title ends with the `terms` that the text
/// has. If the text lacks some, the title says so, unless some review has all words of the search: then it `is_exact`.
fn push_result(out: &mut Vec<u8>, catalog: &Catalog, row: Row, terms: &[Term<'_>], is_exact: bool) {
    let index = &catalog.snapshot.index;
    let review = catalog.snapshot.author_and_text(row);
    let text = review.text.decode();
    let found = find_in(&text, terms);
    let stars = index.rating(row).stars();
    let mut title = title(&review.author.decode(), index.date(row), stars);
    if !found.words.is_empty() {
        title.push_str(": ");
        title.push_str(&found.words.join(", "));
    }
    if !is_exact && !found.has_all {
        title.push_str(" (not all words)");
    }
    let id = index.id(row);
    let mut object = Object::begin(out);
    object
        .string("id", id)
        .string("title", &title)
        .string("text", found.snippet)
        .string("url", &catalog.review_url(id));
    object.end();
}

/// Returns the end of the JSON of a page, after its reviews: the optional keys that every search may have.
fn tail_of(catalog: &Catalog, query: &Query<'_>) -> Vec<u8> {
    let mut tail = Vec::new();
    push_tail(&mut tail, query.ignored);
    let names = resolved_names(&catalog.snapshot.index, &query.filter);
    add_resolved_names(&mut tail, &names);
    tail
}

/// Renders a page of reviews in their short form with a hint about the search.
fn render_with_hint(catalog: &Catalog, page: &Page, query: &Query<'_>, hint: &str) -> ResultJson {
    let mut tail = tail_of(catalog, query);
    add_text(&mut tail, "hint", truncate(hint, HINT_BYTES_MAX));
    render(catalog, page, query, &tail)
}

/// Renders a page of reviews in their short form, and where the words are in them if `include` asks for it.
///
/// The size of the JSON is bounded: the reviews get the room that `tail` leaves. If not all rows fit, the page ends early
/// and `next_cursor` continues after its last review, so no review is lost.
fn render(catalog: &Catalog, page: &Page, query: &Query<'_>, tail: &[u8]) -> ResultJson {
    let mut room = ANSWER_BYTES_MAX.saturating_sub(HEAD_BYTES_MAX + tail.len());
    let mut reviews: Vec<Cow<'_, ResultJson>> = Vec::with_capacity(page.rows.len());
    let mut matches = b"{".to_vec();
    for row in &page.rows {
        let review = catalog.short_form(*row);
        let mut matches_of_review = Vec::new();
        if query.include.matches {
            push_matches(&mut matches_of_review, catalog, *row, &query.filter);
        }
        // With the commas.
        let bytes = review.len() + matches_of_review.len() + 2;
        if bytes > room && !reviews.is_empty() {
            break;
        }
        room = room.saturating_sub(bytes);
        if !reviews.is_empty() {
            matches.push(b',');
        }
        matches.extend_from_slice(&matches_of_review);
        reviews.push(review);
    }
    matches.push(b'}');
    let next = next_page(catalog, page, query, reviews.len());
    let cursor = next.map(|next| next.render());
    let cursor = cursor.as_ref().map_or(&b""[..], |text| text.as_bytes());
    let mut head = Vec::with_capacity(HEAD_BYTES_MAX);
    push_head(
        &mut head,
        page.matched,
        page.ranked,
        reviews.len(),
        Some(cursor),
    );
    let mut json = ResultJson::of(&head);
    for (at, review) in reviews.iter().enumerate() {
        if at > 0 {
            json.push(b",");
        }
        json.push_part(review);
    }
    if query.include.matches {
        let mut tail = tail.to_vec();
        add_member(&mut tail, "matches", &matches);
        json.push(&tail);
    } else {
        json.push(tail);
    }
    json
}

/// Returns where the next page begins if only the first `returned` reviews of `page` are listed.
fn next_page(catalog: &Catalog, page: &Page, query: &Query<'_>, returned: usize) -> Option<Cursor> {
    let is_complete = returned == page.rows.len();
    // The order by relevance has no next page.
    if is_complete || page.ranked.is_some() {
        return page.next;
    }
    let last = page.rows[..returned].last()?;
    cursor_at(&catalog.snapshot.index, *last, query.sort)
}

/// Appends a member whose key is the id of a review, and whose value says where the words are in its text as it is listed.
fn push_matches(out: &mut Vec<u8>, catalog: &Catalog, row: Row, filter: &Filter<'_>) {
    let review = clean(catalog.snapshot.review_json(row));
    let review = StoredReview::parse(&review);
    let ranges = include::matches(&review.text.decode(), filter, BYTES_MAX);
    push_string(out, review.id);
    out.push(b':');
    out.extend_from_slice(ranges.to_string().as_bytes());
}

/// What a search has found in a text.
struct FoundInText<'t> {
    /// The words, as they stand in the text, each once.
    words: Vec<&'t str>,
    /// Whether each term is there.
    has_all: bool,
    /// The part of the text around the first of them.
    snippet: &'t str,
}

/// Finds the first occurrence of each term in `text`.
fn find_in<'t>(text: &'t str, terms: &[Term<'_>]) -> FoundInText<'t> {
    let ranges = find_folded(text, terms, SEARCHED_BYTES_MAX, 1);
    let mut found: Vec<&str> = Vec::new();
    for range in &ranges {
        let rest = &text[range.end..];
        let word_end = rest.find(|character: char| !is_of_word(character));
        let word = &text[range.start..range.end + word_end.unwrap_or(rest.len())];
        let word = truncate(word, FOUND_BYTES_MAX);
        if found.len() < FOUND_MAX && !found.contains(&word) {
            found.push(word);
        }
    }
    // One range may hold several terms that overlap, such as "call" and "called".
    let found_texts: Vec<String> = ranges
        .iter()
        .map(|range| fold(&text[range.clone()]))
        .collect();
    let is_found = |term: &Term<'_>| found_texts.iter().any(|found| found.contains(term.text));
    let has_all = terms.iter().all(is_found);
    let first = ranges.first().map_or(0, |range| range.start);
    let sentence = sentences(text).find(|sentence| sentence.end > first);
    let mut start = sentence.map_or(0, |sentence| sentence.start.min(first));
    // A long sentence is shown from its match on.
    if first - start > SNIPPET_BYTES_MAX / 2 {
        start = first;
    }
    FoundInText {
        words: found,
        has_all,
        snippet: truncate(&text[start..], SNIPPET_BYTES_MAX).trim(),
    }
}
