//! `/widget.json`: what the custom element shows, in one language, so that the script needs no words and no formats.

use serde::Serialize;

use super::messages::Messages;
use super::rating::RATING_FROM;
use super::review::ReviewView;
use super::search::PageQuery;
use super::theme::ElementLook;
use super::widget::stars_note;
use super::{PageLanguage, Pages};
use crate::search::rank;
use crate::search::run;

/// Number of reviews, if the request names none.
const LIMIT_DEFAULT: u8 = 3;

#[derive(Serialize)]
struct WidgetData<'p> {
    words: WidgetWords<'p>,
    look: ElementLook,
    /// The page with all reviews.
    url: String,
    /// `None` with fewer than three reviews.
    mean: Option<Mean>,
    /// "207 reviews".
    count: String,
    /// The words of the link to all reviews.
    all: String,
    /// The sentence that says which ratings are shown, if not all are.
    note: Option<String>,
    disclaimer: Option<&'p str>,
    reviews: Vec<WidgetCard<'p>>,
}

#[derive(Serialize)]
struct WidgetWords<'p> {
    language: &'p str,
    direction: &'p str,
    reviews: &'p str,
    read_more: &'p str,
    read_less: &'p str,
    rating_only: &'p str,
    /// The label of the button that scrolls back.
    previous: &'p str,
    /// The label of the button that scrolls on.
    next: &'p str,
    /// The sentence that is shown without reviews.
    none: &'p str,
}

#[derive(Serialize)]
struct Mean {
    number: String,
    label: String,
    /// Width of the filled stars, from 0 to 120.
    width: u64,
}

#[derive(Serialize)]
struct WidgetCard<'p> {
    id: &'p str,
    url: String,
    author: &'p str,
    initials: String,
    tint: u32,
    avatar: Option<String>,
    rating: u64,
    stars: String,
    date: &'p str,
    day: String,
    head: String,
    rest: String,
    language: Option<&'p str>,
    source: String,
    icon: &'p str,
    check: String,
    is_confirmed: bool,
    reply: Option<ReplyCard<'p>>,
    photos: Vec<PhotoCard>,
}

#[derive(Serialize)]
struct ReplyCard<'p> {
    from: String,
    text: &'p str,
}

#[derive(Serialize)]
struct PhotoCard {
    url: String,
    alt: String,
}

impl Pages {
    /// Finds and renders the reviews of the custom element for a query.
    pub(crate) fn widget_data(
        &self,
        page_query: &PageQuery<'_>,
        language: PageLanguage,
        scratch: &mut run::Scratch,
    ) -> String {
        let t = language.chosen.messages();
        let mut query = page_query.query;
        if page_query.params.value("limit").is_empty() {
            query.limit = LIMIT_DEFAULT;
        }
        let page = rank::search(&self.snapshot.index, &query, scratch);
        let rows = page.rows.iter();
        let reviews: Vec<ReviewView> = rows
            .map(|row| ReviewView::read(&self.snapshot, *row))
            .collect();
        let count = self.stats.count;
        let mut url = format!("{}/", self.snapshot.base_url);
        if language.is_explicit {
            url.push_str(&format!("?lang={}", t.code));
        }
        let data = WidgetData {
            look: ElementLook::of(&self.snapshot.site),
            words: WidgetWords {
                language: &t.code,
                direction: t.dir(),
                reviews: &t.reviews,
                read_more: &t.read_more,
                read_less: &t.read_less,
                rating_only: &t.rating_only,
                previous: &t.previous,
                next: &t.next,
                none: if count == 0 {
                    &t.no_reviews
                } else {
                    &t.no_match
                },
            },
            url,
            mean: self.widget_mean(t),
            count: t.counted(&t.review_count, count),
            all: t.counted(&t.read_all, count),
            note: stars_note(t, &query),
            disclaimer: self.snapshot.disclaimer.as_deref(),
            reviews: reviews.iter().map(|one| self.widget_card(t, one)).collect(),
        };
        serde_json::to_string(&data).expect("strings and numbers are JSON")
    }

    fn widget_mean(&self, t: &Messages) -> Option<Mean> {
        if self.stats.count < RATING_FROM {
            return None;
        }
        let number = t.tenths(self.stats.mean_tenths()?);
        Some(Mean {
            label: t.stars_of_5.fill(&[("stars", &number)]),
            number,
            width: self.stats.stars_width(),
        })
    }

    fn widget_card<'p>(&'p self, t: &'p Messages, review: &'p ReviewView) -> WidgetCard<'p> {
        let base_url = &self.snapshot.base_url;
        let owner = &self.snapshot.business.name;
        let who = t.who(self.snapshot.site.clientele);
        let photos = review.photos.iter().map(|photo| PhotoCard {
            url: format!("{base_url}{}", photo.thumbnail),
            alt: review.photo_alt(photo, t),
        });
        WidgetCard {
            id: &review.id,
            url: format!("{base_url}/reviews/{}", review.id),
            author: &review.author,
            initials: review.initials(),
            tint: review.tint(),
            avatar: review
                .avatar
                .as_ref()
                .map(|path| format!("{base_url}{path}")),
            rating: review.rating,
            stars: review.stars_label(t),
            date: review.machine_date(),
            day: review.day(t),
            head: review.head().map(|one| one.text).collect(),
            rest: review.rest().map(|one| one.text).collect(),
            language: review.language.as_deref(),
            source: review.source_name(t),
            icon: review.icon(),
            check: review.verification_text(t, who, owner),
            is_confirmed: review.is_confirmed(),
            reply: review.owner_reply.as_ref().map(|reply| ReplyCard {
                from: t.reply_from.fill(&[("name", owner)]),
                text: &reply.text,
            }),
            photos: photos.collect(),
        }
    }
}
