//! Which columns of a table, or keys of an object, hold which field: as the operator says, by their names, and where
//! several have a name that fits, by their values.

use super::date::{self, Order};
use super::formats::{KNOWN, SourceFormat};
use super::rating;
use super::record::{Field, Record};
use super::text::quote;

/// What the operator said with `--map`: fields and the columns that hold them.
pub type Mapping = Vec<(Field, String)>;

/// Parses `rating=Stars,date=Posted on`.
///
/// # Errors
/// A line that names the fields.
pub fn parse_mapping(text: &str) -> Result<Mapping, String> {
    let mut mapping = Mapping::new();
    for pair in text.split(',') {
        let (name, column) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not of the form field=column"))?;
        let name = name.trim();
        let Some(field) = Field::named(name) else {
            let names: Vec<&str> = Field::NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!("`{name}` is not a field: {}", names.join(", ")));
        };
        if mapping.iter().any(|(known, _)| *known == field) {
            return Err(format!("{field} is given twice"));
        }
        mapping.push((field, column.trim().to_owned()));
    }
    Ok(mapping)
}

/// A name without case, blanks and punctuation, as names are compared.
pub(super) fn normal(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether the words of a list of the table of formats hold this one.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// Which field each column holds.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Each field with its columns, counted from 0: of several the first that holds something counts, and columns
    /// that stand together are joined.
    pub(super) used: Vec<(Field, Vec<Vec<usize>>)>,
}

/// What columns are found by.
struct Header<'h> {
    /// The names as they stand.
    names: &'h [&'h str],
    /// The names as they are compared.
    normal: Vec<String>,
    /// The first rows.
    rows: &'h [&'h [String]],
}

impl Columns {
    /// Finds the columns of `names`: those of `mapping` first, the others by the names that the format knows; where
    /// it takes any make's, the values of the first `rows` decide between several.
    ///
    /// # Errors
    /// A line, where a column that the operator named is not there.
    pub(super) fn find(
        names: &[&str],
        rows: &[&[String]],
        mapping: &Mapping,
        format: &SourceFormat,
    ) -> Result<Columns, String> {
        let header = Header {
            names,
            normal: names.iter().map(|name| normal(name)).collect(),
            rows,
        };
        let mut columns = Columns::default();
        for (field, column) in mapping {
            columns
                .used
                .push((*field, vec![vec![header.mapped(*field, column)?]]));
        }
        for (field, names) in format.fields {
            let joined = |name: &str| name.split('+').map(|part| header.named(part)).collect();
            let found: Vec<Vec<usize>> = names.split_whitespace().filter_map(joined).collect();
            if !columns.has(*field) && !found.is_empty() {
                columns.used.push((*field, found));
            }
        }
        if format.fields.is_empty() {
            for (field, names) in KNOWN {
                if !columns.has(field)
                    && let Some(at) = header.any(field, names, &columns)
                {
                    columns.used.push((field, vec![vec![at]]));
                }
            }
        }
        Ok(columns)
    }

    /// Whether one of the columns holds `field`.
    pub(super) fn has(&self, field: Field) -> bool {
        self.used.iter().any(|(known, _)| *known == field)
    }

    /// Whether a column holds some field.
    pub(super) fn uses(&self, at: usize) -> bool {
        let mut columns = self
            .used
            .iter()
            .flat_map(|(_, found)| found.iter().flatten());
        columns.any(|used| *used == at)
    }

    /// Makes a record of a row.
    pub(super) fn record(&self, row: &[String], line: u64) -> Record {
        let mut record = Record::at(line);
        let cell = |at: &usize| row.get(*at).map(String::as_str).unwrap_or_default();
        for (field, found) in &self.used {
            let values = found.iter().map(|columns| match columns.as_slice() {
                [at] => cell(at).to_owned(),
                several => several.iter().map(cell).collect::<Vec<_>>().join(" "),
            });
            let filled = values.into_iter().find(|value| !value.trim().is_empty());
            record.set(*field, filled.unwrap_or_default());
        }
        record
    }
}

impl Header<'_> {
    /// The column that the operator named.
    fn mapped(&self, field: Field, column: &str) -> Result<usize, String> {
        let exact = self.names.iter().position(|name| name.trim() == column);
        exact
            .or_else(|| self.named(&normal(column)))
            .ok_or_else(|| {
                let names: Vec<String> = self.names.iter().map(|name| quote(name)).collect();
                format!(
                    "--map {field}={column}: there is no such column, but {}",
                    names.join(", ")
                )
            })
    }

    /// The first column of this name.
    fn named(&self, name: &str) -> Option<usize> {
        self.normal.iter().position(|column| column == name)
    }

    /// The column for a field of any make: the first known name whose values fit, else the first; without one the
    /// only further column that holds nothing but stars, or days.
    fn any(&self, field: Field, names: &str, columns: &Columns) -> Option<usize> {
        let free = |at: &usize| !columns.uses(*at);
        let named = names.split_whitespace().filter_map(|name| self.named(name));
        let named: Vec<usize> = named.filter(free).collect();
        let fits = |at: &&usize| self.values(**at).any(|_| true) && self.fits(field, **at);
        if field == Field::Text {
            // What a name such as "note" calls text may be the stars.
            return named.iter().find(|at| self.fits(field, **at)).copied();
        }
        let found = named.iter().find(fits).or(named.first()).copied();
        if found.is_some() || !matches!(field, Field::Rating | Field::Date) {
            return found;
        }
        let all: Vec<usize> = (0..self.names.len()).filter(free).collect();
        let mut fitting = all.iter().filter(fits);
        fitting.next().filter(|_| fitting.next().is_none()).copied()
    }

    fn values(&self, at: usize) -> impl Iterator<Item = &str> {
        let values = self
            .rows
            .iter()
            .filter_map(move |row| Some(row.get(at)?.trim()));
        values.filter(|value| !value.is_empty())
    }

    /// Whether most values of a column can be those of a field.
    fn fits(&self, field: Field, at: usize) -> bool {
        let orders = [
            Order::DayMonthYear,
            Order::MonthDayYear,
            Order::YearMonthDay,
        ];
        let is_stars = |value: &str| rating::parse(value, None).is_ok();
        let is_value = |value: &&str| match field {
            Field::Rating => is_stars(value),
            Field::Date => orders
                .iter()
                .any(|order| date::parse(value, Some(*order), "").is_ok()),
            Field::Text => {
                let stars = KNOWN.iter().find(|(field, _)| *field == Field::Rating);
                let is_named = stars.is_some_and(|(_, names)| is_listed(names, &self.normal[at]));
                !is_named || !is_stars(value)
            }
            _ => true,
        };
        let fitting = self.values(at).filter(is_value).count();
        fitting * 2 >= self.values(at).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::formats::FORMATS;

    fn find(header: &str, rows: &[&str]) -> Vec<(String, usize)> {
        let header: Vec<&str> = header.split(',').collect();
        let row = |row: &&str| row.split(',').map(str::to_owned).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
        let rows: Vec<&[String]> = rows.iter().map(Vec::as_slice).collect();
        let columns = Columns::find(&header, &rows, &Mapping::new(), &FORMATS[0]).unwrap();
        let used = columns.used.iter();
        used.map(|(field, at)| (field.to_string(), at[0][0]))
            .collect()
    }

    fn is(found: &[(String, usize)], expected: &[(&str, usize)]) {
        let expected: Vec<(String, usize)> = expected
            .iter()
            .map(|(field, at)| ((*field).to_owned(), *at))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_in_several_languages_are_known_and_the_surest_wins() {
        let found = find("NAME,author_name,Überschrift,Sterne,DATUM,Kommentar", &[]);
        is(
            &found,
            &[
                ("author", 1),
                ("rating", 3),
                ("date", 4),
                ("text", 5),
                ("title", 2),
            ],
        );
    }

    #[test]
    fn values_decide_where_a_name_means_two_things() {
        let found = find("Bewertung,Sterne,Datum", &["Sehr gut.,5,05.03.2024"]);
        is(&found, &[("rating", 1), ("date", 2), ("text", 0)]);
        let found = find("Bewertung,Kommentar", &["5,Gut.", "4,Fein."]);
        is(&found, &[("rating", 0), ("text", 1)]);
        let found = find("Note,Bewertung", &["2,Gut.", "1,Fein."]);
        is(&found, &[("rating", 0), ("text", 1)]);
        let found = find("Date,Created", &["Monday,2024-03-05"]);
        is(&found, &[("date", 1)]);
    }

    #[test]
    fn the_only_column_of_stars_or_of_days_needs_no_name() {
        let rows = ["Ann,5,2024-03-04", "Bob,4,2024-03-05"];
        is(
            &find("name,a,b", &rows),
            &[("author", 0), ("rating", 1), ("date", 2)],
        );
        is(&find("name,a,b", &["Ann,5,4"]), &[("author", 0)]);
    }

    #[test]
    fn a_mapping_wins_and_names_what_is_not_there() {
        let mapping = parse_mapping("rating=Points, text = What they said").unwrap();
        let names = ["Rating", "Points", "what they said"];
        let columns = Columns::find(&names, &[], &mapping, &FORMATS[0]).unwrap();
        let expected = [(Field::Rating, vec![vec![1]]), (Field::Text, vec![vec![2]])];
        assert_eq!(columns.used, expected);
        let error = Columns::find(&["a", "b"], &[], &mapping, &FORMATS[0]).unwrap_err();
        assert_eq!(
            error,
            "--map rating=Points: there is no such column, but \"a\", \"b\""
        );
        assert!(
            parse_mapping("stars=x")
                .unwrap_err()
                .starts_with("`stars` is not a field: id, author, ")
        );
        assert!(parse_mapping("rating").is_err());
        assert_eq!(
            parse_mapping("rating=a,rating=b").unwrap_err(),
            "rating is given twice"
        );
    }
}
