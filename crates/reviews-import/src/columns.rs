//! Assigns the columns of a table, or the keys of an object, to fields: by the operator's mapping, by their names, and
//! if several names match, by their values.

use serde_json::Value;

use super::date::{self, Order};
use super::formats::{SourceFormat, formats};
use super::rating;
use super::record::{Field, Mapping, Record};
use super::text::normal;
use reviewd_wire::text::quote;

/// Largest number of columns of a table; one with more is refused.
pub(super) const COLUMNS_MAX: usize = 1_000;

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
    /// The line of a quotation mark that closes in the middle of a value.
    pub(super) misplaced: Option<u64>,
}

/// The columns of a table, and the fields that they are assigned to.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The names as given.
    pub(super) names: Vec<String>,
    /// The names normalized for comparison.
    normal: Vec<String>,
    /// Each field with groups of columns, counted from 0. The columns of a group are joined, and the first group that
    /// is not blank is the value.
    used: Vec<(Field, Vec<Vec<usize>>)>,
}

impl Columns {
    /// Assigns the columns `names`: those of `mapping` first, the others by the names in the format; if the format is
    /// generic, the values in `rows` decide between several.
    pub(super) fn find(
        names: &[String],
        rows: &[Row],
        mapping: &Mapping,
        format: &SourceFormat,
    ) -> Result<Columns, String> {
        let mut columns = Columns {
            names: names.to_vec(),
            normal: names.iter().map(|name| normal(name)).collect(),
            used: Vec::new(),
        };
        for (field, column) in mapping {
            let at = columns.mapped(*field, column)?;
            columns.used.push((*field, vec![vec![at]]));
        }
        for (&field, names) in format.fields() {
            if columns.has(field) {
                continue;
            }
            let joined = |name: &str| name.split('+').map(|part| columns.named(part)).collect();
            let found: Vec<Vec<usize>> = match format.is_generic() {
                true => Vec::from_iter(columns.any(field, names, rows).map(|at| vec![at])),
                false => names.split('|').filter_map(joined).collect(),
            };
            if !found.is_empty() {
                columns.used.push((field, found));
            }
        }
        Ok(columns)
    }

    /// Checks that all required fields have a column, and that no two columns in use have the same name.
    pub(super) fn complete(self) -> Result<Columns, String> {
        let is_repeated = |at: &usize| {
            let same = self.normal.iter().filter(|name| **name == self.normal[*at]);
            self.uses(*at) && same.count() > 1
        };
        if let Some(at) = (0..self.names.len()).find(is_repeated) {
            let name = quote(&self.names[at]);
            return Err(format!("two columns are named {name}: rename one of them"));
        }
        let required = [Field::Author, Field::Rating, Field::Date];
        match required.into_iter().find(|field| !self.has(*field)) {
            None => Ok(self),
            Some(field) => Err(format!(
                "no known column contains the {field}: set it with --map {field}=COLUMN; the columns are {}",
                self.quoted()
            )),
        }
    }

    /// The first 30 names, quoted for a message.
    fn quoted(&self) -> String {
        let names = self.names.iter().take(30).map(|name| quote(name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Whether a column is assigned to `field`.
    pub(super) fn has(&self, field: Field) -> bool {
        self.used.iter().any(|(known, _)| *known == field)
    }

    /// Each field with the name of its first column.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Field, &str)> {
        let first = |found: &[Vec<usize>]| self.names.get(*found.first()?.first()?);
        let used = self.used.iter();
        used.filter_map(move |(field, found)| Some((*field, first(found)?.as_str())))
    }

    /// Whether a column is assigned to any field.
    fn uses(&self, at: usize) -> bool {
        let mut used = self.used.iter();
        used.any(|(_, found)| found.iter().flatten().any(|used| *used == at))
    }

    /// Makes a record of a row.
    pub(super) fn record(&self, row: &[String], line: u64) -> Record {
        let mut record = Record::at(line);
        let cell = |at: &usize| row.get(*at).map(String::as_str).unwrap_or_default();
        for (field, found) in &self.used {
            let joined = |at: &Vec<usize>| at.iter().map(cell).collect::<Vec<_>>().join(" ");
            let mut values = found.iter().map(joined);
            let filled = values.find(|value| !value.trim().is_empty());
            record.set(*field, filled.unwrap_or_default());
        }
        record
    }

    /// The fields with their columns, and the columns that are not used.
    pub(super) fn report(&self) -> (Vec<(String, Value)>, Vec<String>) {
        let name = |at: usize| self.names[at].trim().to_owned();
        let used = self.used.iter().map(|(field, found)| {
            let columns: Vec<String> = found.iter().flatten().map(|at| name(*at)).collect();
            (field.to_string(), Value::from(columns.join(" or ")))
        });
        let unused = (0..self.names.len()).filter(|at| !self.uses(*at));
        (used.collect(), unused.map(name).collect())
    }

    /// The column that the operator named.
    fn mapped(&self, field: Field, column: &str) -> Result<usize, String> {
        let exact = self.names.iter().position(|name| name.trim() == column);
        let found = exact.or_else(|| self.named(&normal(column)));
        let missing = || {
            let names = self.quoted();
            format!("--map {field}={column}: there is no such column; the columns are {names}")
        };
        found.ok_or_else(missing)
    }

    /// The first column of this name.
    fn named(&self, name: &str) -> Option<usize> {
        self.normal.iter().position(|column| column == name)
    }

    /// The column for a field of a generic format: the first with a known name whose values fit, else the first with a
    /// known name. Without one, a rating or a date may be the only unassigned column whose values fit.
    fn any(&self, field: Field, names: &str, rows: &[Row]) -> Option<usize> {
        let free = |at: &usize| !self.uses(*at);
        let named = names.split('|').filter_map(|name| self.named(name));
        let named: Vec<usize> = named.filter(free).collect();
        // A column without values fits only as the text.
        let fits = |at: &&usize| self.fits(field, **at, rows).unwrap_or(field == Field::Text);
        let found = named.iter().find(fits).copied();
        match field {
            // A column named like a text, such as "note", may contain the stars.
            Field::Text => found,
            Field::Rating | Field::Date if named.is_empty() => {
                let all: Vec<usize> = (0..self.names.len()).filter(free).collect();
                let mut fitting = all.iter().filter(fits);
                fitting.next().filter(|_| fitting.next().is_none()).copied()
            }
            _ => found.or(named.first().copied()),
        }
    }

    /// Whether at least half of a column's values are valid for a field; `None` if it has no values.
    fn fits(&self, field: Field, at: usize, rows: &[Row]) -> Option<bool> {
        let is_stars = |value: &str| rating::parse(value, None).is_ok();
        let is_day = |value: &str, order: &Order| date::parse(value, Some(*order), "").is_ok();
        let stars = &formats()[0].fields()[&Field::Rating];
        let may_be_stars = stars.split('|').any(|name| name == self.normal[at]);
        let is_value = |value: &str| match field {
            Field::Rating => is_stars(value),
            Field::Date => Order::ALL.iter().any(|order| is_day(value, order)),
            Field::Text => !may_be_stars || !is_stars(value),
            _ => true,
        };
        let values = rows
            .iter()
            .filter_map(|row| Some(row.cells.get(at)?.trim()));
        let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
        let fitting = values.iter().filter(|value| is_value(value)).count();
        (!values.is_empty()).then_some(fitting * 2 >= values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::parse_mapping;
    use super::*;

    fn find(header: &str, rows: &[&str], mapping: &str) -> Result<String, String> {
        let cells = |row: &str| row.split(',').map(str::to_owned).collect::<Vec<_>>();
        let row = |row: &&str| Row {
            cells: cells(row),
            ..Row::default()
        };
        let rows: Vec<Row> = rows.iter().map(row).collect();
        let mapping = match mapping {
            "" => Mapping::new(),
            given => given
                .split(',')
                .map(parse_mapping)
                .collect::<Result<_, _>>()?,
        };
        let columns = Columns::find(&cells(header), &rows, &mapping, &formats()[0])?;
        let used = columns
            .used
            .iter()
            .map(|(field, at)| format!("{field}={}", at[0][0]));
        Ok(used.collect::<Vec<_>>().join(" "))
    }

    /// A header, rows below it, and the columns that are found.
    const TABLES: &str = "\
NAME,author_name,Überschrift,Sterne,DATUM,Kommentar => author=1 rating=3 date=4 text=5 title=2
Bewertung,Sterne,Datum; Sehr gut.,5,05.03.2024 => rating=1 date=2 text=0
Bewertung,Kommentar; 5,Gut.; 4,Fein. => rating=0 text=1
Note,Bewertung; 2,Gut.; 1,Fein. => rating=0 text=1
Date,Created; Monday,2024-03-05 => date=1
name,a,b; Ann,5,2024-03-04; Bob,4,2024-03-05 => author=0 rating=1 date=2
name,a,b; Ann,5,4 => author=0";

    #[test]
    fn columns_are_found_by_name_and_if_that_is_ambiguous_by_value() {
        for line in TABLES.lines() {
            let (table, found) = line.split_once(" => ").expect("columns");
            let rows: Vec<&str> = table.split("; ").collect();
            assert_eq!(find(rows[0], &rows[1..], "").as_deref(), Ok(found));
        }
    }

    #[test]
    fn two_columns_of_one_name_are_refused_where_they_are_used() {
        for (header, refused) in [
            ("Name,Rating,rating,Date", true),
            ("Name,Rating,Date,Tag,Tag", false),
        ] {
            let names: Vec<String> = header.split(',').map(str::to_owned).collect();
            let found = Columns::find(&names, &[], &Mapping::new(), &formats()[0]);
            let error = found.and_then(Columns::complete).err();
            let wanted = "two columns are named \"Rating\": rename one of them";
            assert_eq!(error.as_deref(), refused.then_some(wanted), "{header}");
        }
    }

    #[test]
    fn a_mapping_wins() {
        let mapping = "rating=Points, text = What they said";
        let found = find("Rating,Points,what they said", &[], mapping);
        assert_eq!(found.as_deref(), Ok("rating=1 text=2"));
    }
}
