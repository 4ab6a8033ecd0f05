//! The words of the table: what an address, an operation and a parameter are made of.

use super::Address;

/// One address with everything that can be done there.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Up to and with the last slash.
    pub(crate) parent: &'static str,
    /// What follows it; a name in braces where it is a parameter.
    pub(crate) last: &'static str,
    pub(crate) address: Address,
    pub(in crate::pages) tag: Tag,
    /// One for each method, but for HEAD and OPTIONS, which follow from the others.
    pub(in crate::pages) operations: &'static [Operation],
}

/// What can be done with one method.
#[derive(Debug)]
pub(in crate::pages) struct Operation {
    pub(in crate::pages) verb: Verb,
    /// Its name in generated clients, and its anchor on the page.
    pub(in crate::pages) id: &'static str,
    /// A few words.
    pub(in crate::pages) summary: &'static str,
    /// Whole sentences without markup.
    pub(in crate::pages) description: &'static str,
    pub(in crate::pages) parameters: &'static [Parameter],
    pub(in crate::pages) body: Body,
    pub(super) answer: Answer,
    /// Statuses besides, each with its answer among the components.
    pub(super) others: &'static [(&'static str, &'static str)],
}

/// A method that is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Verb {
    Get,
    Post,
    Delete,
}

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Tag {
    Reviews,
    Feeds,
    Agents,
    Push,
    Pages,
    Discovery,
    State,
    /// What pages load by themselves.
    Files,
}

/// A value that a request may carry.
#[derive(Debug)]
pub(in crate::pages) struct Parameter {
    pub(in crate::pages) name: &'static str,
    pub(in crate::pages) place: Place,
    /// A phrase without its full stop.
    pub(in crate::pages) description: &'static str,
    pub(in crate::pages) kind: Kind,
    pub(in crate::pages) example: Value,
    pub(in crate::pages) is_required: bool,
    /// Whether the example of the operation uses it.
    pub(in crate::pages) is_shown: bool,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Place {
    Path,
    Query,
    Header,
}

/// Which values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Kind {
    /// A whole number, both bounds included.
    Integer {
        min: u32,
        max: u32,
        default: Option<u32>,
    },
    /// A number with at most six digits behind its point, both bounds included.
    Decimal { min: u32, max: u32 },
    /// `YYYY-MM-DD`.
    Date,
    /// Any text of at most so many bytes.
    Text { bytes_max: usize },
    /// A text of this form.
    Pattern(&'static str),
    /// The id of a subject of the insights that are served.
    Aspect,
    /// Any text; what is none of these words counts as not given.
    Hint(&'static [&'static str]),
    /// One of these words.
    Choice {
        words: &'static [&'static str],
        default: Option<&'static str>,
    },
}

/// A value of the data that is served, for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Value {
    /// Nothing would mean anything.
    None,
    /// The same for all data.
    Fixed(&'static str),
    /// The id of the newest review.
    Id,
    /// Its date.
    Date,
    /// The id of the first service.
    Service,
    /// The name of the first person.
    Person,
    /// The id of the subject that is mentioned most.
    Aspect,
}

/// What a request carries.
#[derive(Debug)]
pub(in crate::pages) enum Body {
    None,
    /// JSON-RPC, with examples by name.
    Messages(&'static [(&'static str, &'static str)]),
    /// The form of the hub.
    Form,
}

/// The answer where everything is well.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) description: &'static str,
    /// Empty where there is no body.
    pub(super) media_type: &'static str,
    /// Its name among the components.
    pub(super) schema: &'static str,
    /// Header fields, each with its name among the components.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) example: Document,
}

/// A body made of the data that is served, its lists cut to their first entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Document {
    None,
    /// JSON, the same for all data.
    Fixed(&'static str),
    Reviews,
    Search,
    Since,
    Review,
    Insights,
    FeedJson,
    LinkedData,
    Ready,
    Call,
}

impl Entry {
    /// Returns the whole path, with its parameter in braces.
    pub(crate) fn path(&self) -> String {
        [self.parent, self.last].concat()
    }

    /// Tells whether the last segment is a parameter.
    pub(crate) const fn has_parameter(&self) -> bool {
        matches!(self.last.as_bytes(), [b'{', ..])
    }

    /// Returns every method of the address, HEAD beside each GET, and OPTIONS.
    #[cfg(test)]
    pub(crate) fn methods(&self) -> Vec<&'static str> {
        let described = self.operations.iter().flat_map(|operation| {
            let head = (operation.verb == Verb::Get).then_some("HEAD");
            std::iter::once(operation.verb.name()).chain(head)
        });
        described.chain(["OPTIONS"]).collect()
    }
}

impl Operation {
    /// Tells whether what it answers with is JSON of one kind or another.
    pub(in crate::pages) fn is_json(&self) -> bool {
        self.answer.media_type.contains("json")
    }
}

impl Verb {
    /// Returns the method as a request writes it.
    pub(in crate::pages) fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
        }
    }

    /// Returns the method as OpenAPI writes it.
    pub(super) fn key(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::Post => "post",
            Verb::Delete => "delete",
        }
    }
}

impl Tag {
    /// Every tag that people read about, in order.
    pub(in crate::pages) const ALL: [Tag; 8] = [
        Tag::Reviews,
        Tag::Feeds,
        Tag::Agents,
        Tag::Push,
        Tag::Pages,
        Tag::Discovery,
        Tag::State,
        Tag::Files,
    ];

    /// Returns its name.
    pub(in crate::pages) fn name(self) -> &'static str {
        match self {
            Tag::Reviews => "Reviews",
            Tag::Feeds => "Feeds",
            Tag::Agents => "AI agents",
            Tag::Push => "Push",
            Tag::Pages => "For people and other sites",
            Tag::Discovery => "Discovery",
            Tag::State => "State of the service",
            Tag::Files => "Files of the pages",
        }
    }

    /// Returns what it holds, in a sentence.
    pub(in crate::pages) fn description(self) -> &'static str {
        match self {
            Tag::Reviews => "The reviews themselves, and what they say.",
            Tag::Feeds => "The newest reviews for feed readers and search engines.",
            Tag::Agents => "The same data for models, by the Model Context Protocol.",
            Tag::Push => "Changes are pushed to you: WebSub.",
            Tag::Pages => "Pages, and what other sites show of the reviews.",
            Tag::Discovery => "How programs find everything else.",
            Tag::State => "Whether the service is alive and what it serves.",
            Tag::Files => "What the pages load by themselves.",
        }
    }
}
