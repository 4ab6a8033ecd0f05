//! Assigns the columns of a source to fields: by the operator's mapping, by their names, and if several names match, by
//! their values.
//!
//! A field may have several columns: of each record the first value that is not blank counts. A second column is another
//! name for the same field only if no record has different values in both: `name` beside `author_title` is the business.

use serde_json::Value;
use thiserror::Error;

use super::date::{self, DateOrder};
use super::formats::{Form, SourceFormat};
use super::rating;
use super::record::{Field, Mapping, Record};
use super::relative;
use super::replies::{ReplyHeading, is_question, is_sentence, reply_heading};
use super::resolve::{Resolved, resolve};
use super::shape::Shape;
use super::status::{
    StatusColumn, StatusError, StatusOptions, StatusRule, hides, is_status_name, rule_of,
};
use super::text::{can_be_typed, is_listed};
use reviewd_wire::text::quote;

/// Names in a message.
const NAMES_MAX: usize = 30;

/// A longer text in a column without a known name is not a name, in bytes.
const NAME_BYTES_LIKELY: usize = 60;
/// Largest number of words of a value that is an e-mail address with a name; a longer one is a text.
const WORDS_OF_MAIL_MAX: usize = 4;

/// Values of a column that says yes or no.
const FLAGS: &str = "true false yes no ja nein nee oui non sí sim não tak nie";

/// Common names of authors that may also be the name of the business.
const COMMON_AUTHORS: [&str; 4] = ["name", "displayname", "nombre", "nom"];

/// Columns whose values are joined, such as first and last name.
#[derive(Clone, Debug)]
struct ColumnGroup {
    columns: Vec<usize>,
    /// Whether only the part after the last slash counts.
    is_last_part: bool,
}

/// The assigned columns.
#[derive(Debug, Default)]
pub(super) struct Columns {
    used: Vec<(Field, Vec<ColumnGroup>)>,
    statuses: Vec<(usize, StatusRule)>,
    /// Fields that the operator mapped.
    mapped: Vec<Field>,
    /// Whether the column of the days of answers was found by the words of its heading.
    has_likely_reply_days: bool,
    /// Whether several columns may have answers.
    has_several_replies: bool,
}

/// Why the columns of a source cannot be used.
#[derive(Debug, Error)]
pub(super) enum ColumnsError {
    #[error("--map {field}={column}: there is no such column; the columns are {columns}")]
    Unmapped {
        field: Field,
        column: String,
        columns: String,
    },
    #[error(
        "no known column contains the {field}: set it with --map {field}=COLUMN; the columns are {columns}{example}"
    )]
    Missing {
        field: Field,
        columns: String,
        example: String,
    },
    #[error(
        "no known column contains the text of the reviews: set it with --map text=COLUMN, or import stars only with \
         --no-text; the columns are {columns}{example}"
    )]
    NoText { columns: String, example: String },
    #[error(
        "no known column contains the date: set it with --map date=COLUMN, or take the reviews with the date of the file \
         with --undated; the columns are {columns}{example}"
    )]
    NoDate { columns: String, example: String },
    #[error("two columns are named {0}: rename one of them")]
    Repeated(String),
    #[error(
        "the column {column} is {value} in every record, which is the name of the business rather than of an author: set \
         the author with --map author=COLUMN; the columns are {columns}"
    )]
    BusinessAsAuthor {
        column: String,
        value: String,
        columns: String,
    },
    #[error("{0}")]
    Status(#[from] StatusError),
    #[error("{flag} {column}: there is no such column; the columns are {columns}")]
    UnknownStatus {
        flag: &'static str,
        column: String,
        columns: String,
    },
}

/// What decides about columns besides their names.
#[derive(Clone, Copy)]
pub(super) struct Rules<'r> {
    pub(super) mapping: &'r Mapping,
    pub(super) format: &'static SourceFormat,
    pub(super) statuses: &'r StatusOptions,
    /// Whether the source is a table: then a column without a known name may be the rating or the date.
    pub(super) is_table: bool,
}

impl Columns {
    /// Assigns the columns of `shape`.
    pub(super) fn find(shape: &Shape, rules: Rules<'_>) -> Result<Columns, ColumnsError> {
        let mut columns = Columns::default();
        for mapped in rules.mapping {
            let at = shape
                .written(&mapped.column)
                .ok_or_else(|| ColumnsError::Unmapped {
                    field: mapped.field,
                    column: mapped.column.clone(),
                    columns: quoted(shape),
                })?;
            columns.used.push((mapped.field, vec![ColumnGroup::of(at)]));
            columns.mapped.push(mapped.field);
        }
        for (&field, names) in rules.format.fields() {
            if field == Field::Status {
                continue;
            }
            if columns.has(field) {
                // A record without a value in the operator's column may have one where the format has it.
                if !rules.format.is_generic() {
                    columns.extend(field, listed(shape, names));
                }
                continue;
            }
            let groups = if rules.format.is_generic() {
                columns.usual(shape, field, names, rules.is_table)
            } else {
                listed(shape, names)
            };
            if !groups.is_empty() {
                columns.used.push((field, groups));
            }
        }
        if rules.format.is_generic() {
            columns.find_replies(shape);
        }
        columns.find_statuses(shape, rules)?;
        Ok(columns)
    }

    /// Checks that all required fields have a column, among them the text if `needs_text` and the date if `needs_date`, and
    /// that no two columns in use have the same name.
    pub(super) fn check(
        &self,
        shape: &Shape,
        rules: Rules<'_>,
        needs_text: bool,
        needs_date: bool,
    ) -> Result<(), ColumnsError> {
        if rules.is_table {
            self.check_repeated(shape)?;
        }
        // A format with words for ratings also has reviews without stars.
        let required = [Field::Author, Field::Rating];
        let is_whole = rules.format.form == Form::WholeJson;
        for field in required {
            let has_words = field == Field::Rating && !rules.format.ratings.is_empty();
            if !self.has(field) && !is_whole && !has_words {
                return Err(ColumnsError::Missing {
                    field,
                    columns: quoted(shape),
                    example: self.example(shape),
                });
            }
        }
        if !self.has(Field::Date) && needs_date && !is_whole {
            return Err(ColumnsError::NoDate {
                columns: quoted(shape),
                example: self.example(shape),
            });
        }
        if needs_text && rules.format.is_generic() && !self.has_words() {
            return Err(ColumnsError::NoText {
                columns: quoted(shape),
                example: self.example(shape),
            });
        }
        self.check_author(shape, rules)
    }

    fn check_repeated(&self, shape: &Shape) -> Result<(), ColumnsError> {
        for (at, column) in shape.columns.iter().enumerate() {
            let same = shape
                .columns
                .iter()
                .filter(|one| one.normal == column.normal);
            if self.uses(at) && same.count() > 1 && !column.normal.is_empty() {
                return Err(ColumnsError::Repeated(quote(column.name.trim())));
            }
        }
        Ok(())
    }

    /// Refuses the name of the business as the author of all reviews.
    fn check_author(&self, shape: &Shape, rules: Rules<'_>) -> Result<(), ColumnsError> {
        if self.mapped.contains(&Field::Author) || !rules.format.is_generic() {
            return Ok(());
        }
        let Some([group]) = self.groups(Field::Author) else {
            return Ok(());
        };
        let column = &shape.columns[group.columns[0]];
        let Some(value) = column.constant(3) else {
            return Ok(());
        };
        if !COMMON_AUTHORS.contains(&column.normal.as_str()) {
            return Ok(());
        }
        Err(ColumnsError::BusinessAsAuthor {
            column: quote(&column.name),
            value: quote(value),
            columns: quoted(shape),
        })
    }

    /// Suggests columns for the fields that are missing, by their values.
    fn example(&self, shape: &Shape) -> String {
        let mut taken = Vec::new();
        let mut example = String::new();
        for field in [Field::Rating, Field::Date, Field::Text, Field::Author] {
            if self.has(field) {
                continue;
            }
            let free = (0..shape.columns.len()).filter(|at| {
                let column = &shape.columns[*at];
                let is_free = !self.uses(*at) && !taken.contains(at) && !is_key(&column.normal);
                is_free && !column.is_object && can_be_typed(column.name.trim())
            });
            let fitting = free.filter(|at| is_likely(shape, field, *at));
            let best = match field {
                Field::Text => fitting.max_by_key(|at| length(shape, *at)),
                _ => fitting.min(),
            };
            if let Some(at) = best {
                taken.push(at);
                let name = shape.columns[at].name.trim();
                example += &format!(" --map '{field}={name}'");
            }
        }
        if example.is_empty() {
            return example;
        }
        format!("; perhaps{example}")
    }

    fn extend(&mut self, field: Field, groups: Vec<ColumnGroup>) {
        let found = self.used.iter_mut().find(|(other, _)| *other == field);
        if let Some((_, used)) = found {
            used.extend(groups);
        }
    }

    /// Whether a column is assigned to `field`.
    pub(super) fn has(&self, field: Field) -> bool {
        self.groups(field).is_some()
    }

    /// Whether a column is assigned to the words of the reviews.
    fn has_words(&self) -> bool {
        let mut fields = [Field::Text, Field::Title, Field::Pros, Field::Cons].into_iter();
        fields.any(|field| self.has(field))
    }

    fn groups(&self, field: Field) -> Option<&[ColumnGroup]> {
        let found = self.used.iter().find(|(other, _)| *other == field);
        found.map(|(_, groups)| groups.as_slice())
    }

    /// Whether a column is assigned to any field.
    fn uses(&self, at: usize) -> bool {
        let mut groups = self.used.iter().flat_map(|(_, groups)| groups);
        groups.any(|group| group.columns.contains(&at))
    }

    /// The columns for a field of a generic format: all with a usual name whose values fit, as far as they are names for
    /// the same field. Without one, a rating or a date may be the only unassigned column of a table whose values fit.
    fn usual(&self, shape: &Shape, field: Field, names: &str, is_table: bool) -> Vec<ColumnGroup> {
        let mut candidates = listed(shape, names);
        candidates.retain(|group| group.columns.iter().all(|at| !self.uses(*at)));
        let is_named = !candidates.is_empty();
        candidates.retain(|group| is_usable(shape, field, group));
        let mut groups: Vec<ColumnGroup> = Vec::new();
        for group in candidates {
            let is_excluded = groups.iter().any(|first| {
                contradicts(shape, field, first, &group) || is_same_object(shape, first, &group)
            });
            if !is_excluded {
                groups.push(group);
            }
        }
        if groups.is_empty()
            && !is_named
            && is_table
            && matches!(field, Field::Rating | Field::Date)
        {
            let free = (0..shape.columns.len()).filter(|at| !self.uses(*at));
            let mut fitting = free.filter(|at| is_likely(shape, field, *at));
            let only = fitting.next();
            if fitting.next().is_none() {
                groups.extend(only.map(ColumnGroup::of));
            }
        }
        groups
    }

    /// Assigns the columns whose headings and values say that they are the owner's answers and the days of these. Without a
    /// column of texts, what looks like an answer may be the review.
    fn find_replies(&mut self, shape: &Shape) {
        if !self.has(Field::Text) {
            return;
        }
        self.remove_answers_to_questions(shape);
        let likely = (0..shape.columns.len()).filter(|at| may_be_reply(shape, *at));
        self.has_several_replies = likely.count() > 1;
        if !self.has_value(shape, Field::OwnerReply)
            && let Some(at) = self.best(shape, ReplyHeading::Reply, is_sentence)
        {
            self.used.retain(|(field, _)| *field != Field::OwnerReply);
            self.used
                .push((Field::OwnerReply, vec![ColumnGroup::of(at)]));
        }
        if self.has(Field::OwnerReply)
            && !self.has(Field::OwnerReplyDate)
            && let Some(at) = self.best(shape, ReplyHeading::Day, is_date)
        {
            self.used
                .push((Field::OwnerReplyDate, vec![ColumnGroup::of(at)]));
            self.has_likely_reply_days = true;
        }
    }

    /// Beside a column of questions, a column that is only called "answer" may have the customer's: it is not taken as the
    /// owner's.
    fn remove_answers_to_questions(&mut self, shape: &Shape) {
        let mut names = shape.columns.iter().map(|column| &column.name);
        if self.mapped.contains(&Field::OwnerReply) || !names.any(|name| is_question(name)) {
            return;
        }
        self.used.retain(|(field, groups)| {
            let mut columns = groups.iter().flat_map(|group| &group.columns);
            *field != Field::OwnerReply
                || columns.all(|at| reply_heading(&shape.columns[*at].name) != ReplyHeading::Likely)
        });
    }

    /// Whether several columns may have answers; a blank one does not say that there is none then.
    pub(super) fn has_several_replies(&self) -> bool {
        self.has_several_replies
    }

    /// Whether the operator named the column of a field, or one of its columns has a value.
    fn has_value(&self, shape: &Shape, field: Field) -> bool {
        let groups = self.groups(field).unwrap_or_default();
        let mut columns = groups.iter().flat_map(|group| &group.columns);
        self.mapped.contains(&field) || columns.any(|at| shape.columns[*at].filled > 0)
    }

    /// Returns the unassigned column with such a heading that has the most fitting values, if at least half of its values fit.
    fn best(
        &self,
        shape: &Shape,
        heading: ReplyHeading,
        is_fitting: fn(&str) -> bool,
    ) -> Option<usize> {
        let mut best = None;
        let mut count_max = 0;
        for (at, column) in shape.columns.iter().enumerate() {
            let is_own = !column.is_object && !column.normal.contains('.') && !self.uses(at);
            if !is_own || reply_heading(&column.name) != heading {
                continue;
            }
            let group = ColumnGroup::of(at);
            let texts: Vec<String> = texts(shape, Field::OwnerReply, &group).collect();
            let count = texts.iter().filter(|text| is_fitting(text)).count();
            if count * 2 >= texts.len() && count > count_max {
                best = Some(at);
                count_max = count;
            }
        }
        best
    }

    /// Whether the column of the days of answers was found by the words of its heading.
    pub(super) fn has_likely_reply_days(&self) -> bool {
        self.has_likely_reply_days
    }

    /// Takes back that a column has the days of answers.
    pub(super) fn remove_reply_days(&mut self) {
        self.used
            .retain(|(field, _)| *field != Field::OwnerReplyDate);
    }

    /// The unused columns that may have answers: those with a heading of them, and without a column of answers those with a
    /// word for an answer.
    fn likely_replies(&self, shape: &Shape, unused: &[String]) -> Vec<String> {
        let mut likely = unused.to_vec();
        likely.retain(|name| match reply_heading(name) {
            ReplyHeading::Reply => can_be_typed(name),
            ReplyHeading::Likely => !self.has(Field::OwnerReply) && can_be_typed(name),
            ReplyHeading::Day | ReplyHeading::Other => false,
        });
        likely.retain(|name| {
            let at = shape.columns.iter().position(|one| one.name.trim() == name);
            at.is_some_and(|at| is_likely(shape, Field::OwnerReply, at))
        });
        likely
    }

    fn find_statuses(&mut self, shape: &Shape, rules: Rules<'_>) -> Result<(), ColumnsError> {
        let asked = rules
            .statuses
            .published_if
            .iter()
            .map(|one| ("--published-if", &one.column));
        let ignored = rules.statuses.ignored.iter().map(|name| ("--ignore", name));
        for (flag, column) in asked.chain(ignored) {
            if shape.written(column).is_none() {
                return Err(ColumnsError::UnknownStatus {
                    flag,
                    column: quote(column),
                    columns: quoted(shape),
                });
            }
        }
        let named = match self.groups(Field::Status) {
            Some(groups) => groups[0].columns.clone(),
            None => Vec::new(),
        };
        let of_format = match rules.format.fields().get(&Field::Status) {
            Some(names) => names.as_str(),
            None => "",
        };
        for (at, column) in shape.columns.iter().enumerate() {
            let is_mapped = named.contains(&at);
            let is_of_format = !rules.format.is_generic() && is_one_of(of_format, &column.normal);
            // A member of an object, such as that of a product, is about something else, unless the whole path is the name
            // of a status, such as `moderation.status`.
            let joined = column.normal.replace('.', "");
            let is_member = column.normal.contains('.') && !is_status_name(&joined);
            let is_own = !is_member && !column.is_object;
            let is_free = is_own && !self.uses(at);
            if !is_mapped && !is_of_format && !is_free {
                continue;
            }
            let published = rules.format.published.as_str();
            let described = StatusColumn {
                name: &column.name,
                normal: &joined,
                values: &column.values,
                has_more: column.has_more,
                is_named: is_mapped || is_of_format,
            };
            let rule = if is_of_format && !published.is_empty() {
                Some(StatusRule::Listed(split_words(published)))
            } else {
                rule_of(&described, rules.statuses)?
            };
            self.statuses.extend(rule.map(|rule| (at, rule)));
        }
        Ok(())
    }

    /// Makes a record of an object of the source.
    pub(super) fn record(
        &self,
        shape: &Shape,
        value: &Value,
        line: u64,
        format: &SourceFormat,
    ) -> Record {
        let mut record = Record::at(line);
        for (field, groups) in &self.used {
            match field {
                Field::Status => {}
                Field::Media => record.media = self.media(shape, groups, value),
                _ => self.read(shape, *field, groups, value, format, &mut record),
            }
        }
        for (at, rule) in &self.statuses {
            let value = shape.columns[*at].value(value).map(resolved_status);
            // The shape has every short value, so only a longer one is not understood.
            record.is_hidden |= hides(rule, &value.unwrap_or_default()).unwrap_or(true);
        }
        record
    }

    /// Reads a field: the first value that is not blank.
    fn read(
        &self,
        shape: &Shape,
        field: Field,
        groups: &[ColumnGroup],
        value: &Value,
        format: &SourceFormat,
        record: &mut Record,
    ) {
        let mut is_there = false;
        let mut wrong = None;
        for group in groups {
            match group.read(shape, field, value) {
                Resolved::Absent => {}
                Resolved::Blank => is_there = true,
                Resolved::Wrong(what) => wrong = wrong.or(Some(what)),
                Resolved::Text(found) => {
                    record.set(field, group.labeled(shape, field, found.text));
                    for (other, text) in [
                        (Field::BestRating, found.best),
                        (Field::OwnerReplyDate, found.date),
                    ] {
                        if let Some(text) = text
                            && record.filled(other).is_none()
                        {
                            record.set(other, text);
                        }
                    }
                    return;
                }
            }
        }
        if let Some(what) = wrong {
            return record.push_unread(field, what);
        }
        // In a format whose keys are known, an absent key means an empty field; but an export without pictures is no
        // reason to remove a stored one.
        let is_empty = format.form == Form::WholeJson && field != Field::AuthorAvatarUrl;
        let is_mapped = format.is_generic() && self.mapped.contains(&field);
        if (is_there || is_empty || is_mapped) && record.value(field).is_none() {
            record.set(field, "");
        }
    }

    fn media(&self, shape: &Shape, groups: &[ColumnGroup], value: &Value) -> Option<Vec<Value>> {
        let columns = groups.iter().flat_map(|group| &group.columns);
        let found: Vec<&Value> = columns
            .filter_map(|at| shape.columns[*at].value(value))
            .collect();
        if found.is_empty() {
            return None;
        }
        let filled = found
            .into_iter()
            .find(|value| !value.is_null() && *value != "");
        Some(filled.cloned().into_iter().collect())
    }

    /// The fields with their columns, and the columns that are not used.
    pub(super) fn report(&self, shape: &Shape) -> ColumnsReport {
        let mut used: Vec<(String, String)> = Vec::new();
        for (field, groups) in &self.used {
            let names = groups.iter().map(|group| group.name(shape));
            used.push((field.to_string(), names.collect::<Vec<_>>().join(" or ")));
        }
        let mut status_names = Vec::new();
        for (at, _) in &self.statuses {
            status_names.push(shape.columns[*at].name.trim());
        }
        if !status_names.is_empty() {
            used.retain(|(field, _)| field != "status");
            used.push(("status".to_owned(), status_names.join(" and ")));
        }
        let mut unused = Vec::new();
        for (at, column) in shape.columns.iter().enumerate() {
            let is_status = self.statuses.iter().any(|(status, _)| *status == at);
            if !is_status && !column.is_object && !self.uses(at) && !self.uses_parent(shape, at) {
                unused.push(column.name.trim().to_owned());
            }
        }
        let likely_replies = self.likely_replies(shape, &unused);
        ColumnsReport {
            used,
            unused,
            likely_replies,
        }
    }

    /// Whether an object around this column is assigned to any field.
    fn uses_parent(&self, shape: &Shape, at: usize) -> bool {
        let keys = &shape.columns[at].keys;
        let groups = self.used.iter().flat_map(|(_, groups)| groups);
        let mut columns = groups.flat_map(|group| &group.columns);
        columns.any(|parent| {
            let parent = &shape.columns[*parent].keys;
            parent.len() < keys.len() && keys.starts_with(parent)
        })
    }

    /// The name of the column of the ratings, as written.
    pub(super) fn rating_name<'s>(&self, shape: &'s Shape) -> Option<&'s str> {
        let group = self.groups(Field::Rating)?.first()?;
        Some(shape.columns[group.columns[0]].name.trim())
    }

    /// The constant name of the business in the source.
    pub(super) fn business<'s>(&self, shape: &'s Shape) -> Option<&'s str> {
        let group = self.groups(Field::Business)?.first()?;
        shape.columns[group.columns[0]].constant(1)
    }
}

/// The columns of a source as a report shows them.
pub(super) struct ColumnsReport {
    /// Fields and their columns.
    pub(super) used: Vec<(String, String)>,
    pub(super) unused: Vec<String>,
    /// Those of them that may be the owner's answers.
    pub(super) likely_replies: Vec<String>,
}

impl ColumnGroup {
    fn of(at: usize) -> ColumnGroup {
        ColumnGroup {
            columns: vec![at],
            is_last_part: false,
        }
    }

    fn name(&self, shape: &Shape) -> String {
        let names = self.columns.iter().map(|at| shape.columns[*at].name.trim());
        names.collect::<Vec<_>>().join(" + ")
    }

    /// The value of the group in a record; several columns are joined by a space.
    fn read(&self, shape: &Shape, field: Field, record: &Value) -> Resolved {
        if let [at] = self.columns.as_slice() {
            let mut resolved = read_column(shape, *at, field, record);
            if self.is_last_part
                && let Resolved::Text(found) = &mut resolved
            {
                found.text = found.text.rsplit('/').next().unwrap_or_default().to_owned();
            }
            return resolved;
        }
        let mut parts = Vec::new();
        for at in &self.columns {
            let part = read_column(shape, *at, field, record).into_text();
            if !part.trim().is_empty() {
                parts.push(part);
            }
        }
        Resolved::from_text(parts.join(" "))
    }

    /// What the author liked is published with the name of its column.
    fn labeled(&self, shape: &Shape, field: Field, text: String) -> String {
        match field {
            Field::Pros | Field::Cons => format!("{}: {text}", label(&self.name(shape))),
            _ => text,
        }
    }
}

fn read_column(shape: &Shape, at: usize, field: Field, record: &Value) -> Resolved {
    match shape.columns[at].value(record) {
        Some(value) => resolve(field, value),
        None => Resolved::Absent,
    }
}

/// The name of a column as a label: `likedText` is "Liked", `what_i_like` "What i like".
fn label(name: &str) -> String {
    let key = name.rsplit('.').next().unwrap_or(name).trim();
    if key.contains(' ') {
        return key.to_owned();
    }
    let mut words = String::new();
    for character in key.chars() {
        match character {
            '_' | '-' => words.push(' '),
            upper if upper.is_uppercase() && words.ends_with(char::is_lowercase) => {
                words.push(' ');
                words.extend(upper.to_lowercase());
            }
            other => words.push(other),
        }
    }
    let mut characters = words.trim_end_matches(" text").trim().chars();
    let first: String = characters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    first + characters.as_str()
}

/// The groups of columns with these names that the shape has, in this order.
fn listed(shape: &Shape, names: &str) -> Vec<ColumnGroup> {
    let mut groups = Vec::new();
    for name in names.split('|').filter(|name| !name.is_empty()) {
        let is_last_part = name.ends_with('/');
        let name = name.trim_end_matches('/');
        if !name.contains('+') {
            for at in shape.named(name) {
                groups.push(ColumnGroup {
                    columns: vec![at],
                    is_last_part,
                });
            }
            continue;
        }
        // A group of several columns needs all of them.
        let parts = name.split('+').map(|part| shape.named(part).next());
        if let Some(columns) = parts.collect::<Option<Vec<usize>>>() {
            groups.push(ColumnGroup {
                columns,
                is_last_part,
            });
        }
    }
    groups
}

/// The texts of a field in the sample.
fn texts<'s>(
    shape: &'s Shape,
    field: Field,
    group: &'s ColumnGroup,
) -> impl Iterator<Item = String> + 's {
    let values = shape
        .sample
        .iter()
        .map(move |record| group.read(shape, field, record));
    values
        .map(Resolved::into_text)
        .filter(|text| !text.trim().is_empty())
}

/// Whether the values of columns with a usual name can be those of the field.
fn is_usable(shape: &Shape, field: Field, group: &ColumnGroup) -> bool {
    let name = &shape.columns[group.columns[0]].normal;
    let stars = super::formats::formats()[0].fields()[&Field::Rating].as_str();
    let may_be_stars = is_one_of(stars, name);
    // The same title for all reviews is the name of the business or of a product.
    if field == Field::Title && shape.columns[group.columns[0]].constant(2).is_some() {
        return false;
    }
    let texts: Vec<String> = texts(shape, field, group).collect();
    if texts.is_empty() {
        // All reviews may be without a text, but not without stars, a date or an author. Such a column is used only if its
        // values are lists or objects, so that the error names them, or if there is no value in any column.
        let is_required = matches!(field, Field::Rating | Field::Date | Field::Author);
        let mut records = shape.sample.iter();
        let has_wrong =
            records.any(|record| matches!(group.read(shape, field, record), Resolved::Wrong(_)));
        let is_all_empty = shape.columns.iter().all(|column| column.filled == 0);
        return !is_required || has_wrong || is_all_empty;
    }
    let mut fitting = 0;
    for text in &texts {
        let is_stars = may_be_stars && rating::is_rating(text);
        if is_usable_value(text, field, is_stars) {
            fitting += 1;
        }
    }
    fitting * 2 >= texts.len()
}

/// Whether a value of a column with a usual name can be one of the field.
fn is_usable_value(text: &str, field: Field, is_stars: bool) -> bool {
    match field {
        Field::Rating => rating::is_rating(text),
        Field::Date => is_date(text),
        Field::Text | Field::Title => !is_stars && !is_url(text) && !is_flag(text),
        Field::OwnerReply => {
            !is_url(text) && !is_number(text) && !is_flag(text) && !is_mail_line(text)
        }
        Field::Author => !is_url(text) && !is_number(text) && !is_mail(text),
        Field::Pros | Field::Cons => !is_url(text) && !is_number(text) && !is_flag(text),
        _ => true,
    }
}

/// Whether a column may have the owner's answers, by its heading and its values.
fn may_be_reply(shape: &Shape, at: usize) -> bool {
    let column = &shape.columns[at];
    let has_heading = matches!(
        reply_heading(&column.name),
        ReplyHeading::Reply | ReplyHeading::Likely
    );
    let is_own = !column.is_object && !column.normal.contains('.');
    has_heading && is_own && is_likely(shape, Field::OwnerReply, at)
}

/// Whether the values of a column without a known name are likely those of the field.
fn is_likely(shape: &Shape, field: Field, at: usize) -> bool {
    let group = ColumnGroup::of(at);
    let texts: Vec<String> = texts(shape, field, &group).collect();
    let is_constant = shape.columns[at].constant(1).is_some();
    if texts.is_empty() || (field == Field::Author && is_constant) {
        return false;
    }
    let fitting = texts.iter().filter(|text| is_likely_value(text, field));
    fitting.count() * 2 >= texts.len()
}

/// Whether a value of a column without a known name is likely one of the field: rating, date, text, answer or author.
fn is_likely_value(text: &str, field: Field) -> bool {
    match field {
        Field::Rating => rating::parse(text, rating::Scale::default()).is_ok(),
        Field::Date => is_date(text),
        _ if is_number(text) || is_url(text) || is_date(text) || is_mail(text) => false,
        Field::Text => true,
        Field::OwnerReply => !is_flag(text) && !is_mail_line(text),
        _ => !is_flag(text) && text.len() < NAME_BYTES_LIKELY,
    }
}

fn is_date(text: &str) -> bool {
    let mut orders = DateOrder::ALL.into_iter();
    orders.any(|order| date::parse(text, Some(order)).is_ok())
        || relative::is_relative(text)
        || date::month_or_year(text).is_some()
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Whether a name is that of an identifier.
fn is_key(name: &str) -> bool {
    name.ends_with("id") || name.ends_with("ids") || name.ends_with("nanos")
}

fn is_mail(text: &str) -> bool {
    text.contains('@') && !text.contains(char::is_whitespace)
}

/// Whether a text is an e-mail address, perhaps with a name: `Ann Lee <ann@mail.example>`.
fn is_mail_line(text: &str) -> bool {
    let has_mail = text.split_whitespace().any(is_mail);
    has_mail && text.split_whitespace().count() <= WORDS_OF_MAIL_MAX
}

fn is_number(text: &str) -> bool {
    let mut characters = text.trim().chars();
    characters.all(|character| character.is_ascii_digit() || ".,-%/".contains(character))
}

fn is_flag(text: &str) -> bool {
    is_listed(FLAGS, text.to_lowercase().trim())
}

/// Whether a record has different values in both groups, so that they are not two names for one field.
fn contradicts(shape: &Shape, field: Field, first: &ColumnGroup, second: &ColumnGroup) -> bool {
    shape.sample.iter().any(|record| {
        let first = first.read(shape, field, record).into_text();
        let second = second.read(shape, field, record).into_text();
        let is_filled = !first.trim().is_empty() && !second.trim().is_empty();
        is_filled && first.trim() != second.trim()
    })
}

/// Whether one column is a member of the other, which is then read already.
fn is_same_object(shape: &Shape, first: &ColumnGroup, second: &ColumnGroup) -> bool {
    let first = &shape.columns[first.columns[0]].keys;
    let second = &shape.columns[second.columns[0]].keys;
    first.len() != second.len() && (first.starts_with(second) || second.starts_with(first))
}

/// The average length of the texts of a column.
fn length(shape: &Shape, at: usize) -> usize {
    let group = ColumnGroup::of(at);
    let texts: Vec<String> = texts(shape, Field::Text, &group).collect();
    texts.iter().map(String::len).sum::<usize>() / texts.len().max(1)
}

/// The first names, quoted for a message.
fn quoted(shape: &Shape) -> String {
    let names = shape
        .columns
        .iter()
        .filter(|column| !column.is_object)
        .take(NAMES_MAX)
        .map(|column| quote(&column.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Whether `name` is one of `names`, separated by `|`.
fn is_one_of(names: &str, name: &str) -> bool {
    names.split('|').any(|other| other == name)
}

fn split_words(list: &str) -> Vec<String> {
    list.split_whitespace().map(str::to_owned).collect()
}

fn resolved_status(value: &Value) -> String {
    resolve(Field::Status, value).into_text()
}

#[cfg(test)]
mod tests {
    use super::super::formats::formats;
    use super::super::record::parse_mapping;
    use super::*;

    /// Assigns the columns of a table; the result names each field with the number of its first column.
    fn find(header: &str, rows: &[&str], mapping: &str) -> Result<String, String> {
        let names: Vec<&str> = header.split(',').collect();
        let mut shape = Shape::default();
        for row in rows {
            let cells = row.split(',').map(Value::from);
            let pairs = names.iter().map(|name| (*name).to_owned()).zip(cells);
            shape.add(&Value::Object(pairs.collect()));
        }
        if rows.is_empty() {
            let pairs = names
                .iter()
                .map(|name| ((*name).to_owned(), Value::from("")));
            shape.add(&Value::Object(pairs.collect()));
        }
        let mapping = match mapping {
            "" => Mapping::new(),
            mapping => parse_mapping(mapping).map_err(|error| error.to_string())?,
        };
        let rules = Rules {
            mapping: &mapping,
            format: &formats()[0],
            statuses: &StatusOptions::default(),
            is_table: true,
        };
        let columns = Columns::find(&shape, rules).map_err(|error| error.to_string())?;
        let used = columns
            .used
            .iter()
            .map(|(field, groups)| format!("{field}={}", groups[0].columns[0]));
        Ok(used.collect::<Vec<_>>().join(" "))
    }

    /// A header, rows below it, and the columns that are found.
    const TABLES: &str = "\
NAME,author_name,Überschrift,Sterne,DATUM,Kommentar; ,Ann,A,5,2024-03-04,x => author=1 rating=3 date=4 text=5 title=2
Bewertung,Sterne,Datum; Sehr gut.,5,05.03.2024 => rating=1 date=2 text=0
Bewertung,Kommentar; 5,Gut.; 4,Fein. => rating=0 text=1
Note,Bewertung; 2,Gut.; 1,Fein. => rating=0 text=1
Date,Created; Monday,2024-03-05 => date=1
name,a,b; Ann,5,2024-03-04; Bob,4,2024-03-05 => author=0 rating=1 date=2
name,author_title,stars; Crumb,Ann,5; Crumb,Bob,4 => author=1 rating=2
name,rating,stars; Ann,,5; Bob,,4 => author=0 rating=2
First Name,Last Name,stars; Ann,Lee,5 => author=0 rating=2";

    #[test]
    fn columns_are_found_by_name_and_if_that_is_ambiguous_by_value() {
        for line in TABLES.lines() {
            let (table, found) = line.split_once(" => ").expect("columns");
            let rows: Vec<&str> = table.split("; ").collect();
            assert_eq!(
                find(rows[0], &rows[1..], "").as_deref(),
                Ok(found),
                "{table}"
            );
        }
    }

    #[test]
    fn a_column_about_verification_is_found_in_each_language() {
        for name in [
            "Verified",
            "Geprüft",
            "Verifiziert",
            "Verificado",
            "Compra verificada",
            "Vérifié",
            "Achat vérifié",
            "Verificato",
            "Acquisto verificato",
            "Geverifieerd",
            "Geverifieerde aankoop",
            "Zweryfikowany",
            "Zweryfikowany zakup",
        ] {
            let found = find(&format!("Rating,{name}"), &["5,x"], "");
            assert_eq!(found.as_deref(), Ok("rating=0 verified=1"), "{name}");
        }
    }

    /// Headings with a value below, of which none is taken as the owner's answers.
    const NO_ANSWERS: &str = "\
Reply-To=ann@mail.example|Reply to=Ann <ann@mail.example>|reply_to=ann@mail.example|Kommentar an die Praxis=Bitte anrufen.\
|Comment to the owner=Please call me.|Comment on business=Please call me.|Kommentar zum Team=Alle waren nett.\
|Rückmeldung=Bitte anrufen.|Reactie=Graag bellen.|Your response=I liked it.|Su respuesta=Me gusta el pan.\
|Ihre Antwort=Die Ruhe gefiel mir.|Votre réponse=Le pain est bon.|Antwort von=Dr. Weber|Antwort auf=Wie war es bei uns.\
|Antwort zum Team=Alle waren nett.|Public reply?=yes|Public reply=yes|Stellungnahme=ja|Antwort der Praxis=Anna Weber\
|Antwort der Praxis=12|Antwort der Praxis=https://a.example/1|Antwort der Praxis=|Antwort vom=|Response time=45\
|Antwort Praxis=Dr. Weber|Kommentar des Kunden=Bitte anrufen.|Antwort des Kunden=Bitte anrufen.";

    #[test]
    fn what_may_be_private_is_not_taken_as_an_answer() {
        let mut taken = Vec::new();
        for case in NO_ANSWERS.split('|') {
            let (heading, value) = case.split_once('=').expect("a value");
            let row = format!("5,Good.,{value}");
            let found = find(&format!("Rating,Text,{heading}"), &[&row], "");
            if found.as_deref() != Ok("rating=0 text=1") {
                taken.push(format!("{case}: {found:?}"));
            }
        }
        assert_eq!(taken, Vec::<String>::new());
    }

    #[test]
    fn a_mapping_wins() {
        let mapping = "rating=Points, text = What they said";
        let found = find("Rating,Points,what they said", &["1,2,x"], mapping);
        assert_eq!(found.as_deref(), Ok("rating=1 text=2"));
    }
}
