//! The version of the tables. They are written out for each database, in `sqlite/schema.sql` and `postgres/schema.sql`.
//!
//! A published version is never changed: a later one comes with the statements that lead to it.

/// The version of the tables that this program creates, reads and writes.
pub const SCHEMA_VERSION: i64 = 1;

#[cfg(test)]
mod tests {
    /// Returns the tables and indexes of a schema without what the databases spell differently.
    fn normalized(schema: &str) -> String {
        let mut lines = Vec::new();
        for line in schema.lines().filter(|line| !line.starts_with("--")) {
            let line = line
                .replace("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "ID")
                .replace("INTEGER PRIMARY KEY AUTOINCREMENT", "ID")
                .replace("BIGINT", "INTEGER")
                .replace("BYTEA", "BLOB")
                .replace(") STRICT;", ");");
            lines.push(line);
        }
        lines.join("\n")
    }

    #[test]
    fn both_databases_have_the_same_tables_columns_and_indexes() {
        let sqlite = normalized(include_str!("sqlite/schema.sql"));
        let postgres = normalized(include_str!("postgres/schema.sql"));
        assert_eq!(sqlite, postgres);
        assert!(sqlite.contains("CREATE TABLE subscription"));
    }
}
