//! One source of an import: detects its format from its contents, and reads its records.

use std::borrow::Cow;

use encoding_rs::Encoding;
use serde::Serialize;
use serde_json::{Map, Value};

use super::columns::{Columns, ColumnsError, Rules};
use super::csv::{CsvTable, TableRow};
use super::date::{self, DateOrder, find_order};
use super::formats::{Form, SourceFormat, detect, formats, is_usual};
use super::javascript;
use super::json::{ListRules, extra, find};
use super::markup::{MarkedUp, is_page, read_page, read_xml};
use super::rating::GradeName;
use super::record::{
    Field, MISPLACED_QUOTE, Mapping, ObjectError, ReadError, Record, RecordResult, Refusal,
};
use super::shape::{COLUMNS_MAX, Shape};
use super::status::StatusOptions;
use super::text::normal;
use super::{encoding, rating, xlsx};
use reviewd_data::dataset::KEYS_OPTIONAL;
use reviewd_data::model::{platform, typed_platform};
use reviewd_wire::date::Date;
use reviewd_wire::text::quote;

/// Rows in which the names of columns are searched.
const HEADER_ROWS_MAX: usize = 20;

/// The fields by whose names a row is recognized as the names of columns.
const HEADER_FIELDS: [Field; 6] = [
    Field::Author,
    Field::Rating,
    Field::Date,
    Field::Text,
    Field::Title,
    Field::OwnerReply,
];

/// The operator's settings for sources; the rest is detected from their contents.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format of the exports.
    pub format: Option<&'static SourceFormat>,
    /// The columns that the operator named for fields.
    pub mapping: Mapping,
    /// The character encoding; `None` to detect it.
    pub encoding: Option<&'static Encoding>,
    /// The order of day, month and year in numeric dates.
    pub order: Option<DateOrder>,
    /// The site where the reviews were written; exports of reviewd have it for each review.
    pub source: Option<String>,
    /// The reviews that are verified although their source does not state it.
    pub vouched: Vouched,
    /// Whether reviews that are not verified are published as those of their platform.
    pub is_from_platform: bool,
    /// The path of the list of reviews in JSON.
    pub list: Option<String>,
    /// The place whose reviews are read, in a source with several.
    pub place: Option<String>,
    /// The location of the business that all reviews are about.
    pub location: Option<String>,
    /// Columns that say which reviews are published.
    pub statuses: StatusOptions,
    /// Whether reviews without a text are imported although no column with a text was found.
    pub is_without_text: bool,
    /// Whether reviews without a date get that of the source.
    pub is_undated: bool,
    /// The best value of the scale of ratings; then values are rounded to whole stars.
    pub scale: Option<u32>,
    /// The day on which the sources were collected.
    pub as_of: Option<Date>,
    /// The day of the file's last change, if no other day of collection is known.
    pub file_date: Option<Date>,
    /// The current day; reviews may be dated at most one day later, as time zones differ.
    pub today: Date,
}

impl Options {
    /// Returns options for an import on this day, with which everything else is detected.
    pub fn new(today: Date) -> Options {
        Options {
            format: None,
            mapping: Mapping::new(),
            encoding: None,
            order: None,
            source: None,
            vouched: Vouched::Nothing,
            is_from_platform: false,
            list: None,
            place: None,
            location: None,
            statuses: StatusOptions::default(),
            is_without_text: false,
            is_undated: false,
            scale: None,
            as_of: None,
            file_date: None,
            today,
        }
    }
}

/// The reviews that the operator declares verified if the source does not state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// None.
    Nothing,
    /// Those that are not stored yet.
    New,
    /// All.
    All,
}

/// A source with a detected format, ready to be read.
pub struct ImportSource<'i> {
    pub(super) options: &'i Options,
    name: String,
    content: Content<'i>,
    encoding: Option<&'static Encoding>,
    pub(super) format: &'static SourceFormat,
    /// Formats that the source resembles.
    near_formats: Vec<&'static str>,
    shape: Shape,
    columns: Columns,
    /// The names of the columns of a table, each once.
    header: Vec<String>,
    /// The line on which they stand, from 1.
    header_line: u64,
    /// The order of day, month and year in numeric dates.
    pub(super) order: Option<DateOrder>,
    /// The day of collection, for dates relative to it.
    pub(super) collected: Option<Date>,
    /// The business that the source is about.
    business: Option<String>,
    /// Number of records.
    pub(super) count: u64,
}

/// The detected properties of a source, and the result of its import.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceReport {
    /// The name of the source.
    pub source: String,
    /// The title of its format.
    pub kind: &'static str,
    /// The character encoding; `None` for a workbook.
    pub encoding: Option<&'static str>,
    /// What separates the columns of a CSV table.
    pub delimiter: Option<char>,
    /// The order of numeric dates, if they showed one.
    pub date_order: Option<&'static str>,
    /// Formats that the source resembles; it was read as an unknown one.
    pub near_formats: Vec<&'static str>,
    /// The business that the source is about.
    pub business: Option<String>,
    /// Fields and their columns.
    pub columns: Map<String, Value>,
    /// Columns that no field uses.
    pub unused_columns: Vec<String>,
    /// Those of them that may be the owner's answers.
    pub likely_reply_columns: Vec<String>,
    /// New reviews.
    pub added: u64,
    /// Stored reviews that change.
    pub changed: u64,
    /// Stored reviews that stay as they are.
    pub unchanged: u64,
    /// Records that repeat another record of this import.
    pub repeated: u64,
    /// Records that were rejected.
    pub rejected: u64,
    /// Reviews on the ignore list, which are not added.
    pub ignored: u64,
    /// Replies without a day of their own that can be used; they are published with the day of the review.
    pub undated_replies: u64,
}

impl SourceReport {
    /// Number of valid reviews: those imported and those on the ignore list.
    pub fn taken(&self) -> u64 {
        self.added + self.changed + self.unchanged + self.repeated + self.ignored
    }
}

enum Content<'i> {
    Workbook(Vec<TableRow>),
    Csv(Cow<'i, str>),
    Json(Cow<'i, str>),
    Objects(Vec<MarkedUp>),
}

/// Counts of the ratings of a source.
#[derive(Default)]
struct RatingCounts {
    all: u64,
    /// Those that state no scale.
    bare: u64,
    /// Of these, those above 5.
    above: u64,
    largest_thousandths: u32,
}

/// An object of the source, or why there is none.
struct SourceObject {
    line: u64,
    value: Result<Value, ObjectError>,
}

/// All objects of a source.
struct SourceObjects<'s> {
    entries: Box<dyn Iterator<Item = Result<SourceObject, ReadError>> + 's>,
    about: About,
}

/// What surrounds the objects of a source.
#[derive(Default)]
struct About {
    collected: Option<String>,
    business: Option<String>,
}

impl<'i> ImportSource<'i> {
    /// Detects the format of a source, which is called `name` in reports.
    ///
    /// # Errors
    /// If it cannot be read, or cannot contain reviews.
    pub fn open(
        name: &str,
        bytes: &'i [u8],
        options: &'i Options,
    ) -> Result<ImportSource<'i>, ReadError> {
        let mut source = ImportSource {
            options,
            name: name.to_owned(),
            content: Content::Csv(Cow::Borrowed("")),
            encoding: None,
            format: &formats()[0],
            near_formats: Vec::new(),
            shape: Shape::default(),
            columns: Columns::default(),
            header: Vec::new(),
            header_line: 1,
            order: options.order,
            collected: None,
            business: None,
            count: 0,
        };
        source.read_content(bytes)?;
        if source.is_table() {
            source.read_header()?;
        }
        let about = source.read_shape()?;
        source.find_format();
        source.find_columns()?;
        source.check_platform()?;
        source.check_scale()?;
        source.find_dates(&about);
        if source.has_wrong_reply_days() {
            source.columns.remove_reply_days();
            source.find_dates(&about);
        }
        Ok(source)
    }

    fn read_content(&mut self, bytes: &'i [u8]) -> Result<(), ReadError> {
        match bytes {
            [b'P', b'K', 3, 4, ..] => {
                self.content = Content::Workbook(xlsx::rows(bytes)?);
                return Ok(());
            }
            [0x1f, 0x8b, ..] => return Err(ReadError::whole("is compressed: unpack it")),
            _ => {}
        }
        let (text, encoding) = encoding::decode(bytes, self.options.encoding)?;
        if let Some(why) = foreign(&text) {
            return Err(ReadError::whole(why));
        }
        check_zero_bytes(&text)?;
        self.encoding = Some(encoding);
        let asked_form = self.options.format.map(|format| format.form);
        let text = if asked_form != Some(Form::Table) && javascript::is_module(&text) {
            Cow::Owned(javascript::data(&text)?)
        } else {
            text
        };
        let start = text.trim_start();
        let is_json = match asked_form {
            Some(Form::Table) => false,
            Some(Form::Json | Form::WholeJson) => true,
            Some(Form::Any) | None => start.starts_with(['{', '[']),
        };
        self.content = if start.starts_with('<') && asked_form != Some(Form::Table) {
            let objects = if is_page(&text) {
                read_page(&text)?
            } else {
                read_xml(&text, &self.options.mapping)?
            };
            Content::Objects(objects)
        } else if is_json {
            Content::Json(text)
        } else {
            Content::Csv(text)
        };
        Ok(())
    }

    /// Reads the names of the columns, and makes each unique.
    fn read_header(&mut self) -> Result<(), ReadError> {
        let header = self.find_header()?;
        self.header_line = header.line;
        if let Some(opened) = header.misplaced {
            return Err(ReadError::at(opened, MISPLACED_QUOTE));
        }
        if header.cells.len() > COLUMNS_MAX {
            let count = header.cells.len();
            let message = format!("has {count} columns, more than {COLUMNS_MAX}");
            return Err(ReadError::at(header.line, message));
        }
        for mut name in header.cells {
            while self.header.contains(&name) {
                name.push(' ');
            }
            self.header.push(name);
        }
        Ok(())
    }

    /// Returns the row that names the columns: the first row if it has two known names; else the next row with three, as
    /// below the title of a report; else the first row.
    fn find_header(&self) -> Result<TableRow, ReadError> {
        let mut first = None;
        let filled = self.rows().filter(|row| !is_blank(row));
        for row in filled.take(HEADER_ROWS_MAX) {
            if first.is_some() && row.is_err() {
                // It is reported when the records are read.
                break;
            }
            let row = row?;
            let names_min = if first.is_none() { 2 } else { 3 };
            if self.count_column_names(&row) >= names_min {
                return Ok(row);
            }
            if first.is_none() {
                first = Some(row);
            }
        }
        first.ok_or_else(|| {
            ReadError::whole("is empty: a table begins with a row that names its columns")
        })
    }

    /// The number of cells that are names of columns.
    fn count_column_names(&self, row: &TableRow) -> usize {
        row.cells
            .iter()
            .filter(|cell| self.is_column_name(cell))
            .count()
    }

    fn is_column_name(&self, cell: &str) -> bool {
        let name = normal(cell);
        let mut mapped = self.options.mapping.iter();
        if mapped.any(|mapped| normal(&mapped.column) == name) {
            return true;
        }
        let mut fields = HEADER_FIELDS.into_iter();
        fields.any(|field| is_usual(field, &name))
    }

    /// Reads all objects once, for their keys and values.
    fn read_shape(&mut self) -> Result<About, ReadError> {
        let mut shape = Shape::default();
        if self.is_table() {
            // The columns are in the order of the header, and there without any row.
            let blank = self.header.iter().map(|name| (name.clone(), Value::Null));
            shape.add(&Value::Object(blank.collect()));
            shape.count = 0;
            shape.sample.clear();
        }
        let about = self.each(&mut |entry| {
            if let Ok(value) = &entry.value {
                shape.add(value);
            }
        })?;
        self.count = shape.count;
        self.shape = shape;
        Ok(about)
    }

    fn find_format(&mut self) {
        if let Some(format) = self.options.format {
            self.format = format;
            return;
        }
        let detected = detect(&self.shape, self.is_table());
        self.format = detected.format;
        self.near_formats = detected.near;
    }

    fn find_columns(&mut self) -> Result<(), ReadError> {
        let rules = self.rules();
        let columns =
            Columns::find(&self.shape, rules).map_err(|error| self.columns_error(&error))?;
        if self.count > 0 || self.is_table() {
            let needs_text = !self.options.is_without_text && self.count > 0;
            let needs_date = !self.options.is_undated;
            columns
                .check(&self.shape, rules, needs_text, needs_date)
                .map_err(|error| self.columns_error(&error))?;
        }
        self.columns = columns;
        Ok(())
    }

    fn columns_error(&self, error: &ColumnsError) -> ReadError {
        if self.near_formats.is_empty() {
            return ReadError::at(self.header_line, error);
        }
        let near = self.near_formats.join(", ");
        let message = format!("{error}; it resembles {near}, but lacks some of its columns");
        ReadError::at(self.header_line, message)
    }

    fn rules(&self) -> Rules<'i> {
        Rules {
            mapping: &self.options.mapping,
            format: self.format,
            statuses: &self.options.statuses,
            is_table: self.is_table(),
        }
    }

    /// Refuses a source whose reviews are all of no platform, if the operator says that a platform has published them.
    fn check_platform(&self) -> Result<(), ReadError> {
        let asked = self.options.source.as_deref();
        let has_column = self.columns.has(Field::Source);
        let is_decided_by_record = self.is_own_export() || (asked.is_none() && has_column);
        if !self.options.is_from_platform || is_decided_by_record {
            return Ok(());
        }
        let of_format = self.format.source.as_str();
        let name = match asked {
            Some(asked) => typed_platform(asked),
            None => platform(of_format),
        };
        if name.is_some() {
            return Ok(());
        }
        let message = format!(
            "{} is not a platform that publishes reviews with an account: a column such as Source must name one, or, for an \
             import, --source, such as --source google",
            quote(asked.unwrap_or(of_format))
        );
        Err(ReadError::whole(message))
    }

    /// Whether the source is an export of reviewd.
    fn is_own_export(&self) -> bool {
        self.format.flag == "reviewd"
    }

    /// Refuses ratings of another scale than five stars: one read as stars would be published wrongly.
    fn check_scale(&self) -> Result<(), ReadError> {
        if !self.format.best.is_empty() {
            return Ok(());
        }
        let column = self.columns.rating_name(&self.shape).unwrap_or_default();
        let counts = self.count_bare_ratings();
        if counts.bare > 0 {
            self.check_grades(column)?;
        }
        // A single one, or up to one in twenty, is a slip, whose record is refused; if all are above, all are refused.
        let RatingCounts { all, above, .. } = counts;
        let is_mixed = above > 1 && above * 20 > all && above < all;
        let is_ten_by_name = above < all && rating::names_ten(column);
        if self.options.scale.is_some() || (!is_mixed && !is_ten_by_name) {
            return Ok(());
        }
        let likely_best = [10, 20, 50, 100]
            .into_iter()
            .find(|best| best * 1_000 >= counts.largest_thousandths);
        let best = match likely_best {
            Some(best) => best.to_string(),
            None => "BEST".to_owned(),
        };
        Err(ReadError::at(
            self.header_line,
            format!(
                "the ratings of {} are not on a scale of five stars: state its best value, such as --scale {best}",
                quote(column)
            ),
        ))
    }

    /// Counts the ratings, and those that state no scale.
    fn count_bare_ratings(&self) -> RatingCounts {
        let mut counts = RatingCounts::default();
        for record in self.records().filter_map(Result::ok).flatten() {
            let Some(text) = record.filled(Field::Rating) else {
                continue;
            };
            counts.all += 1;
            if record.filled(Field::BestRating).is_some() {
                continue;
            }
            if let Some(value) = rating::bare_thousandths(text) {
                counts.bare += 1;
                if value > 5_000 {
                    counts.above += 1;
                    counts.largest_thousandths = counts.largest_thousandths.max(value);
                }
            }
        }
        counts
    }

    /// Refuses grades, of which 1 is the best: read as stars, the best review would be published as the worst.
    fn check_grades(&self, column: &str) -> Result<(), ReadError> {
        let headings = self.shape.columns.iter().map(|one| one.name.as_str());
        let quoted = quote(column);
        let convert = "convert grades to stars in the table (1 to 5 stars, 2 to 4, 3 to 3 …), in a column named Sterne";
        let message = match rating::grade_name(column, headings) {
            GradeName::Other => return Ok(()),
            GradeName::Ambiguous if self.options.scale.is_some() => return Ok(()),
            GradeName::Ambiguous => format!(
                "the ratings of {quoted} may be school grades, of which 1 is the best: if so, {convert}; if the highest is \
                 the best, say so with any --scale, such as --scale 5"
            ),
            GradeName::Grade => format!(
                "the ratings of {quoted} are school grades, of which 1 is the best: {convert}; if the highest is the \
                 best, rename the column and give --scale"
            ),
        };
        Err(ReadError::at(self.header_line, message))
    }

    /// Finds the order of numeric dates, and the day of collection.
    fn find_dates(&mut self, about: &About) {
        self.order = self.options.order;
        if self.order.is_none() && self.format.form != Form::WholeJson {
            self.order = self.order_of(&[Field::Date, Field::OwnerReplyDate]);
        }
        let stated = about.collected.as_ref().and_then(|text| {
            let day = date::parse(text, self.order).ok();
            day.or_else(|| Some(date::month_or_year(text)?.date))
        });
        self.collected = self.options.as_of.or(stated).or(self.options.file_date);
        let of_columns = self.columns.business(&self.shape).map(str::to_owned);
        self.business = about.business.clone().or(of_columns);
    }

    /// The order of day, month and year that the dates of these fields show.
    fn order_of(&self, fields: &[Field]) -> Option<DateOrder> {
        let mut dates = Vec::new();
        for record in self.records().filter_map(Result::ok).flatten() {
            let filled = fields.iter().filter_map(|field| record.filled(*field));
            dates.extend(filled.map(str::to_owned));
        }
        find_order(dates.into_iter())
    }

    /// Whether reviews would be refused because of the days of their answers, whose column was found by words: a value is no
    /// day, or they hide the order of the other dates.
    fn has_wrong_reply_days(&self) -> bool {
        if !self.columns.has_likely_reply_days() {
            return false;
        }
        if self.order.is_none() && self.order_of(&[Field::Date]).is_some() {
            return true;
        }
        let mut records = self.records().filter_map(Result::ok).flatten();
        records.any(|record| {
            let is_answered = record.filled(Field::OwnerReply).is_some();
            let text = record.filled(Field::OwnerReplyDate);
            is_answered && text.is_some_and(|text| !self.is_past_day(text))
        })
    }

    /// Whether a text is a day that is not to come.
    fn is_past_day(&self, text: &str) -> bool {
        match date::parse(text, self.order) {
            Ok(day) => day <= self.options.today,
            Err(_) => false,
        }
    }

    /// Whether several columns may have replies; a blank one does not say that there is none then.
    pub(super) fn has_several_replies(&self) -> bool {
        self.columns.has_several_replies()
    }

    /// Whether a column has the days of replies.
    pub(super) fn has_reply_days(&self) -> bool {
        self.columns.has(Field::OwnerReplyDate)
    }

    /// Returns the number of records.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the records in their order.
    ///
    /// # Errors
    /// Of an item: a refusal is an invalid record, after which others follow; an error of the source is the last item.
    pub fn records(&self) -> Box<dyn Iterator<Item = Result<RecordResult, ReadError>> + '_> {
        let mut number = 0;
        match self.entries() {
            Ok(found) => Box::new(found.entries.map(move |entry| {
                number += 1;
                Ok(self.read_object(entry?, number))
            })),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    /// Makes a record of the object with this number, from 1.
    fn read_object(&self, object: SourceObject, number: u64) -> RecordResult {
        let line = object.line;
        let record = object.value.and_then(|value| self.record(&value, line));
        match record {
            Ok(record) => Ok(record.numbered(number)),
            Err(reason) => Err(Refusal { line, reason }),
        }
    }

    fn record(&self, value: &Value, line: u64) -> Result<Record, ObjectError> {
        if !value.is_object() {
            return Err(ObjectError::NotAnObject);
        }
        let needed_keys: Vec<&str> = self.format.needs.split_whitespace().collect();
        if !needed_keys.iter().all(|key| has_key(value, key)) {
            let name = self.format.title.split(' ').next().unwrap_or_default();
            return Err(ObjectError::Foreign {
                format: name.to_owned(),
                keys: needed_keys.join(" or no "),
            });
        }
        let mut record = self.columns.record(&self.shape, value, line, self.format);
        if self.is_own_export() {
            record.is_ours = true;
            record.extra = extra(value, KEYS_OPTIONAL);
        }
        Ok(record)
    }

    /// Calls `read` with each object.
    fn each(&self, read: &mut dyn FnMut(SourceObject)) -> Result<About, ReadError> {
        let SourceObjects { entries, about } = self.entries()?;
        for entry in entries {
            // An error of the source is reported when its records are read.
            let Ok(entry) = entry else {
                break;
            };
            read(entry);
        }
        Ok(about)
    }

    /// Returns the objects of the source.
    fn entries(&self) -> Result<SourceObjects<'_>, ReadError> {
        match &self.content {
            Content::Json(text) => {
                let rules = ListRules {
                    mapping: &self.options.mapping,
                    list: self.options.list.as_deref(),
                    place: self.options.place.as_deref(),
                };
                let found = find(text, rules)?;
                let about = About {
                    collected: found.collected,
                    business: found.business,
                };
                let entries = found.elements.into_iter().map(|element| {
                    Ok(SourceObject {
                        line: element.line,
                        value: element.value(),
                    })
                });
                Ok(SourceObjects {
                    entries: Box::new(entries),
                    about,
                })
            }
            Content::Objects(objects) => {
                let entries = objects.iter().map(|object| {
                    Ok(SourceObject {
                        line: object.line,
                        value: Ok(object.value.clone()),
                    })
                });
                Ok(SourceObjects {
                    entries: Box::new(entries),
                    about: About::default(),
                })
            }
            Content::Workbook(_) | Content::Csv(_) => {
                let rows_with_values = self
                    .rows()
                    .skip_while(|row| self.is_before_rows(row))
                    .filter(|row| !is_blank(row));
                Ok(SourceObjects {
                    entries: Box::new(rows_with_values.map(|row| Ok(self.row(row?)))),
                    about: About::default(),
                })
            }
        }
    }

    /// Whether a row of a table is its header, or stands above it.
    fn is_before_rows(&self, row: &Result<TableRow, ReadError>) -> bool {
        match row {
            Ok(row) => row.line <= self.header_line,
            Err(_) => false,
        }
    }

    fn is_table(&self) -> bool {
        matches!(self.content, Content::Workbook(_) | Content::Csv(_))
    }

    fn rows(&self) -> Box<dyn Iterator<Item = Result<TableRow, ReadError>> + '_> {
        match &self.content {
            Content::Workbook(rows) => Box::new(rows.iter().cloned().map(Ok)),
            Content::Csv(text) => Box::new(CsvTable::new(text).rows()),
            Content::Json(_) | Content::Objects(_) => Box::new(std::iter::empty()),
        }
    }

    /// Makes an object of a row, or says why the row is refused.
    fn row(&self, row: TableRow) -> SourceObject {
        SourceObject {
            line: row.line,
            value: self.object_of(row),
        }
    }

    fn object_of(&self, row: TableRow) -> Result<Value, ObjectError> {
        let width = self.header.len();
        match row.misplaced {
            Some(opened) if opened == row.line => return Err(ObjectError::Quote),
            Some(opened) => return Err(ObjectError::QuoteAtLine(opened)),
            None => {}
        }
        // A row may have fewer cells than the header, when its last cells are empty. A row with more cells is an error:
        // most likely a quotation mark is missing.
        let mut extra = row.cells.iter().skip(width);
        if extra.any(|value| !value.trim().is_empty()) {
            return Err(ObjectError::TooManyCells {
                cells: row.cells.len(),
                header_cells: width,
            });
        }
        let missing = std::iter::repeat_n(String::new(), width.saturating_sub(row.cells.len()));
        let cells = row.cells.into_iter().chain(missing);
        let pairs = self.header.iter().cloned().zip(cells.map(Value::from));
        Ok(Value::Object(pairs.collect()))
    }

    /// Returns a report with the detected properties.
    pub(super) fn report(&self) -> SourceReport {
        let delimiter = match &self.content {
            Content::Csv(text) => Some(CsvTable::new(text).delimiter.into()),
            _ => None,
        };
        let columns = self.columns.report(&self.shape);
        let used = columns
            .used
            .into_iter()
            .map(|(field, name)| (field, name.into()));
        SourceReport {
            source: self.name.clone(),
            kind: &self.format.title,
            encoding: self.encoding.map(Encoding::name),
            delimiter,
            date_order: self.order.map(DateOrder::name),
            near_formats: self.near_formats.clone(),
            business: self.business.clone(),
            columns: Map::from_iter(used),
            unused_columns: columns.unused,
            likely_reply_columns: columns.likely_replies,
            ..SourceReport::default()
        }
    }
}

fn is_blank(row: &Result<TableRow, ReadError>) -> bool {
    let row = row.as_ref();
    row.is_ok_and(|row| row.cells.iter().all(|cell| cell.trim().is_empty()))
}

/// Returns why a text cannot be an export, for files that are often mistaken for one.
fn foreign(text: &str) -> Option<&'static str> {
    let start = text.trim_start();
    let is_list = start.starts_with("- ") && text.contains("\n  ") && text.contains(": ");
    if is_list || start.starts_with("---\n") {
        return Some("is YAML: convert it to JSON, or use a table");
    }
    if start.starts_with("[[") && text.contains("]]\n") && text.contains(" = ") {
        return Some("is TOML: convert it to JSON, or use a table");
    }
    if start.starts_with('{') && text.contains("\"features\"") && text.contains("\"geometry\"") {
        return Some(
            "is Google Maps' list of the reviews that you wrote about others: in Takeout choose \
             \"Google Business Profile\" instead, signed in as the owner of the place",
        );
    }
    None
}

/// Rejects a text with a zero byte, which is in no text of an export: the encoding is another one, or the file is damaged.
fn check_zero_bytes(text: &str) -> Result<(), ReadError> {
    let Some((before, _)) = text.split_once('\0') else {
        return Ok(());
    };
    let line = before.split('\n').count() as u64;
    let why = "has a zero byte, which no text has: remove it, or name the encoding of the file with --encoding";
    Err(ReadError::at(line, why))
}

/// Whether a record, or the review in it, has a key.
fn has_key(value: &Value, key: &str) -> bool {
    value.get(key).is_some() || value["review"].get(key).is_some()
}
