//! Platforms that publish reviews, and names of sources that are none.

/// Words of sources that are no platform, such as the business's own website; in lower case.
const OWN_SOURCES: &str = "import csv excel own our unsere eigene website websites ownwebsite ownsite oursite site web \
    internet homepage webseite form forms questionnaire formulaire formulario survey surveys encuesta sondage \
    email mail phone telephone telefon sms whatsapp other sonstige unknown unbekannt none na";

/// Ends of such words in German, which composes them, as in `Kontaktformular`.
const OWN_SOURCE_ENDS: [&str; 7] = [
    "formular",
    "umfrage",
    "befragung",
    "fragebogen",
    "webseite",
    "website",
    "homepage",
];

/// Other names of Google as a platform of reviews, as [`plain`] gives them.
const NAMES_OF_GOOGLE: [&str; 5] = [
    "googlemaps",
    "googlebusiness",
    "googlebusinessprofile",
    "googlemybusiness",
    "googlereviews",
];

/// Platforms that publish reviews, or verify them, as their names are written.
const PLATFORMS: [&str; 40] = [
    "11880",
    "Airbnb",
    "anwalt.de",
    "App Store",
    "Avvo",
    "Bazaarvoice",
    "Booking.com",
    "Capterra",
    "Check24",
    "Doctolib",
    "eKomi",
    "Etsy",
    "Expedia",
    "Facebook",
    "G2",
    "Gelbe Seiten",
    "Glassdoor",
    "golocal",
    "Google Play",
    "Google",
    "HolidayCheck",
    "Jameda",
    "Judge.me",
    "kununu",
    "Lawyers.com",
    "Loox",
    "Martindale",
    "Okendo",
    "PowerReviews",
    "ProvenExpert",
    "Reviews.io",
    "Sanego",
    "Stamped",
    "Treatwell",
    "Tripadvisor",
    "Trusted Shops",
    "Trustpilot",
    "Werkenntdenbesten",
    "Yelp",
    "Yotpo",
];

/// Returns the platform that `name` means, regardless of case, dots and blanks; `None` if it is not known.
#[must_use]
pub fn platform(name: &str) -> Option<&'static str> {
    if NAMES_OF_GOOGLE
        .iter()
        .any(|one| plain(name).eq(one.chars()))
    {
        return Some("Google");
    }
    let mut platforms = PLATFORMS.into_iter();
    platforms.find(|platform| plain(platform).eq(plain(name)))
}

/// Returns the name of a platform that the operator has typed, which need not be a known one; `None` if a word of it says
/// that the source is none, such as the business's own website. [`is_business`] knows its name and host.
#[must_use]
pub fn typed_platform(name: &str) -> Option<&str> {
    if let Some(known) = platform(name) {
        return Some(known);
    }
    let whole: String = plain(name).collect();
    let is_own = is_own_source(&whole) || words(name).iter().any(|word| is_own_source(word));
    if is_own || whole.is_empty() {
        return None;
    }
    Some(name.trim())
}

/// Tells whether a source is the business with this name and website: has its name, with or without further words, or its
/// host.
#[must_use]
pub fn is_business(source: &str, name: &str, website: &str) -> bool {
    let of_source = words(source);
    let of_name = words(name);
    if plain(source).eq(plain(name))
        || has_run(&of_source, &of_name)
        || has_run(&of_name, &of_source)
    {
        return true;
    }
    let own_host = host(website);
    let stated_host = host(source);
    let is_below = stated_host
        .strip_suffix(&own_host)
        .is_some_and(|label| label.is_empty() || label.ends_with('.'));
    !own_host.is_empty() && is_below
}

/// Whether a word in lower case is that of a source that is no platform.
fn is_own_source(word: &str) -> bool {
    OWN_SOURCES.split_whitespace().any(|own| own == word)
        || OWN_SOURCE_ENDS.iter().any(|end| word.ends_with(end))
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let words = name.split(|character: char| !character.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The host of an address, or of a text that is only a host, in lower case and without `www.`.
fn host(address: &str) -> String {
    let lower = address.trim().to_lowercase();
    let after_scheme = match lower.split_once("://") {
        Some((_, rest)) => rest,
        None => &lower,
    };
    let end = after_scheme.find(['/', ':', '?', '#']);
    let host = &after_scheme[..end.unwrap_or(after_scheme.len())];
    host.strip_prefix("www.").unwrap_or(host).to_owned()
}

/// Whether `words` has the two or more words of `run` one after the other.
fn has_run(words: &[String], run: &[String]) -> bool {
    run.len() > 1 && words.windows(run.len()).any(|window| window == run)
}

/// The letters and digits of a name, in lower case.
fn plain(name: &str) -> impl Iterator<Item = char> {
    let plain = name.chars().filter(|character| character.is_alphanumeric());
    plain.flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_no_platform_is_known_by_each_of_its_words() {
        let none = "import|Website|our website|Own website|Contact form|Kontaktformular|Umfrage|Kundenumfrage|Google Forms|\
            Google Formular|Survey|unknown|n/a|N.A.|Phone|E-Mail||-";
        for name in none.split('|') {
            assert_eq!(typed_platform(name), None, "{name}");
        }
        for (name, known, typed) in [
            ("google maps", Some("Google"), "Google"),
            ("Google Business", Some("Google"), "Google"),
            ("google play", Some("Google Play"), "Google Play"),
            ("JAMEDA", Some("Jameda"), "Jameda"),
            ("booking.com", Some("Booking.com"), "Booking.com"),
            (" Arztnavi ", None, "Arztnavi"),
            ("The Feedback Company", None, "The Feedback Company"),
        ] {
            assert_eq!(platform(name), known, "{name}");
            assert_eq!(typed_platform(name), Some(typed), "{name}");
        }
    }

    #[test]
    fn a_source_is_the_business_by_its_name_or_its_host() {
        let own = "Praxis X|praxis x|Praxis X Berlin|x.example|www.x.example|https://X.example/reviews|shop.x.example";
        for source in own.split('|') {
            assert!(
                is_business(source, "Praxis X", "https://www.x.example/"),
                "{source}"
            );
        }
        assert!(is_business("Hart Law", "Hart Law LLP", ""));
        for source in ["Arztnavi", "Praxis", "ax.example", "Google", ""] {
            assert!(
                !is_business(source, "Praxis X", "https://x.example/"),
                "{source}"
            );
        }
        assert!(!is_business("Arztnavi", "Praxis X", ""));
    }
}
