use super::*;

#[test]
fn amounts_of_money_are_recognised() {
    for text in [
        "$5,000",
        "got $ 12",
        "5000$",
        "1.200 €",
        "£3",
        "won 40,000 dollars",
        "50 thousand Dollars",
        "12 USD.",
        "ten and 5 bucks",
        "20 grand",
    ] {
        assert!(names_money(text), "{text}");
    }
    for text in [
        "",
        "$",
        "dollars",
        "a grand office",
        "5 stars",
        "in 2024, we paid in euros",
        "cash$",
        "100 %",
    ] {
        assert!(!names_money(text), "{text}");
    }
}

#[test]
fn whatever_names_money_holds_a_hint() {
    for currency in CURRENCIES {
        assert!(
            MONEY_HINTS.iter().any(|hint| currency.contains(hint)),
            "{currency}"
        );
    }
}
