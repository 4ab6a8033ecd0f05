//! How the owner wants the pages to look and speak: `site.json`.

/// Those whom the business serves, for the words of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clientele {
    Client,
    Patient,
    Guest,
    Student,
    #[default]
    Customer,
}

/// The look and the language of the pages; everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// By the trade that the file names, else by the type of the business.
    pub clientele: Clientele,
    /// A language of the pages; `None` if visitors get theirs.
    pub language: Option<String>,
    /// The color of links and buttons; `None` for ours.
    pub accent: Option<Color>,
    /// Whether pages are light, dark, or as the visitor's system is.
    pub scheme: Scheme,
    /// Radius of corners in pixels, at most 24; `None` for ours.
    pub radius: Option<u8>,
    /// The typefaces.
    pub font: Font,
    /// The site to which the pages link back, an absolute URL; `None` for that of the business.
    pub back_url: Option<String>,
    /// Where customers can write a review.
    pub review_links: Vec<ReviewLink>,
    /// The owner's own styles, which follow ours.
    pub theme: Option<String>,
    /// The logo, if there is one.
    pub logo: Option<Logo>,
}

/// The owner's logo, an image file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    /// The format, found from the bytes.
    pub kind: LogoKind,
    /// The file, at most 256 KiB.
    pub bytes: Vec<u8>,
}

/// The format of a logo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoKind {
    Svg,
    /// With its size in pixels.
    Png {
        width: u32,
        height: u32,
    },
}

/// A color of sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color {
    /// 0 to 255.
    pub red: u8,
    /// 0 to 255.
    pub green: u8,
    /// 0 to 255.
    pub blue: u8,
}

impl Color {
    /// Parses `#1f5f58`; `None` for every other notation.
    #[must_use]
    pub fn parse(text: &str) -> Option<Color> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Color { red, green, blue })
    }
}

/// The color scheme of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// That of the visitor's system.
    #[default]
    Auto,
    Light,
    Dark,
}

impl Scheme {
    pub const ALL: [Scheme; 3] = [Scheme::Auto, Scheme::Light, Scheme::Dark];

    /// Returns the word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        ["auto", "light", "dark"][self as usize]
    }
}

/// The typefaces of the pages: none is loaded from anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Font {
    /// The system's own, with serifs for headings.
    #[default]
    Mixed,
    /// The system's own everywhere.
    System,
    Serif,
    Humanist,
    Rounded,
}

impl Font {
    pub const ALL: [Font; 5] = [
        Font::Mixed,
        Font::System,
        Font::Serif,
        Font::Humanist,
        Font::Rounded,
    ];

    /// Returns the word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        ["mixed", "system", "serif", "humanist", "rounded"][self as usize]
    }
}

/// A page on which customers can write a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewLink {
    /// The platform, such as "google".
    pub source: String,
    /// An absolute URL.
    pub url: String,
}
