//! Columns that say whether a source publishes a review: their names and values in the languages of exports.
//!
//! A column has a sense: `published = no` and `hidden = yes` both hide a review. A value that means nothing in its sense
//! is an error, because a wrong guess would publish what its platform hides; the operator names the values that are
//! published, or excludes the column.

use thiserror::Error;

use super::text::{can_be_typed, is_listed, normal};
use reviewd_wire::text::quote;

/// Names of columns in which a positive value means that the review is published.
const SHOWN_NAMES: &str = "status state reviewstatus poststatus commentstatus reviewstate publishstatus publicationstatus moderationstatus \
    moderationstate moderation approvalstatus approval published ispublished publish visible isvisible visibility approved \
    isapproved display displayed active isactive public ispublic curated enabled isenabled live islive online accepted \
    showonsite show freigegeben freigabe veröffentlicht sichtbar aktiv genehmigt öffentlich statut publié publiée visibilité \
    approuvé validé estado publicado publicada aprobado visibilidad stato pubblicato approvato visibile gepubliceerd \
    goedgekeurd zichtbaar situação aprovado visível stan opublikowane opublikowany zatwierdzone widoczne publicerad godkänd \
    synlig publiceret godkendt publisert godkjent durum yayınlandı onaylandı статус опубликовано одобрено 公開 公開状態 \
    ステータス 状态 已发布 발행";

/// Names of columns in which a positive value, or a date, means that the review is hidden.
const HIDDEN_NAMES: &str = "hidden ishidden spam isspam deleted isdeleted deletedat deletedon archived isarchived archivedat \
    flagged isflagged rejected isrejected rejectedat removed isremoved removedat trashed istrashed draft isdraft private \
    isprivate suppressed issuppressed blocked isblocked unpublished isunpublished unpublishedat disabled isdisabled inactive \
    fake isfake demo isdemo sample issample placeholder isplaceholder mock ismock fictive fictitious hiddenat withdrawn iswithdrawn banned versteckt ausgeblendet gelöscht gesperrt abgelehnt archiviert masqué masquée \
    supprimé caché archivé rejeté oculto oculta eliminado borrado rechazado archivado nascosto eliminato rifiutato verborgen \
    verwijderd afgewezen excluído rejeitado ukryte usunięte odrzucone dold raderad skjult slettet gizli silindi скрыто \
    удалено 非公開 非表示 削除 隐藏 已删除";

/// Parts of a name that may say whether a review is published.
const SHOWN_PARTS: &str = "publi status moderat moderación modération visib approv approuv aprob freig veröffentlich sichtbar \
    genehmig statut estado pubblic opublik yayın опублик 公開 掲載 godk consent permission einverst einwillig erlaub autoris \
    autoriz consenso consentimiento toestemming zgoda samtyck mayweuse canweuse mayweshare canweshare oktouse oktoshare";

/// Parts of a name that may say that a review is hidden.
const HIDDEN_PARTS: &str = "hidden deleted archived flagged rejected unpublish spam";

/// Parts of the names of columns about something else.
const OTHER_PARTS: &str = "publisher publicname publicreply verif http sync reply response language translat order payment ship delivery subscription stock invoice marital employ bestell zahlung commande \
    pedido date time url datum fecha";

/// Names of dates that only published reviews have.
const DATED_NAMES: &str = "publishedat approvedat";

/// Names that often mean something else; they count only if a value is understood.
const WEAK_NAMES: &str =
    "state display displayed show public live private active approval stan estado online curated";

/// Values that mean yes, for columns of either sense.
const YES: &str = "yes y true t 1 on x ✓ ✔ checked ja oui si sí sì sim tak evet да はい 是";

/// Values that mean no.
const NO: &str =
    "no n false f 0 off unchecked nein nej nei non nee não nie hayır нет いいえ 否 null none";

/// Values of published reviews.
const SHOWN: &str = "published publish approved approve accepted active enabled visible public shown live online ok okay \
    verified displayed publishedonsite veröffentlicht freigegeben genehmigt sichtbar aktiv öffentlich akzeptiert publié publiée \
    approuvé approuvée validé visible actif enligne public publicado publicada aprobado aprobada activo pubblicato approvato \
    visibile attivo gepubliceerd goedgekeurd zichtbaar actief aprovado visível ativo opublikowane opublikowana opublikowany \
    zatwierdzone zatwierdzona widoczne aktywne publicerad godkänd synlig publiceret godkendt publisert godkjent yayında \
    yayınlandı onaylandı aktif görünür опубликовано опубликован одобрено одобрен активен 公開 公開済み 承認済み 有効 已发布 \
    已批准 公开";

/// Values of hidden reviews.
const HIDDEN: &str = "hidden hide pending unpublished unpublish rejected reject declined denied refused disapproved unapproved \
    notapproved notpublished notyet spam trash trashed deleted removed archived flagged private draft disabled inactive hold \
    onhold held awaiting awaitingapproval awaitingmoderation inreview underreview review queued quarantined suppressed blocked \
    banned reported withdrawn invisible offline new unmoderated pendingapproval pendingreview pendingmoderation \
    ausstehend abgelehnt versteckt ausgeblendet gelöscht entwurf inaktiv gesperrt wartend inprüfung zurückgestellt \
    nichtveröffentlicht nichtfreigegeben unveröffentlicht nichtgenehmigt offen privat archiviert zuprüfen \
    enattente rejeté rejetée refusé refusée masqué masquée caché cachée supprimé supprimée brouillon nonpublié nonpubliée \
    indésirable corbeille inactif privé archivé àvalider nonapprouvé enmodération \
    pendiente rechazado rechazada oculto oculta eliminado eliminada borrador nopublicado inactivo privado archivado enrevisión \
    enespera noaprobado inattesa rifiutato nascosto eliminato bozza nonpubblicato inattivo archiviato dapprovare \
    inafwachting afgewezen afgekeurd verborgen verwijderd concept nietgepubliceerd inactief gearchiveerd \
    pendente rejeitado rejeitada excluído rascunho nãopublicado inativo arquivado aguardando \
    oczekujące oczekujący oczekująca odrzucone odrzucony ukryte usunięte szkic nieopublikowane nieaktywne \
    väntar väntande avvisad nekad dold raderad utkast opublicerad afventer afvist skjult slettet kladde venter avslått \
    beklemede reddedildi gizli silindi taslak pasif ожидает наожидании отклонено отклонен скрыто скрыт удалено черновик \
    非公開 保留 承認待ち 却下 削除 下書き 無効 待审核 已拒绝 隐藏 已隐藏 删除 草稿 未发布";

/// Values in a column of hidden reviews that mean that the review is published, besides those for no.
const NOT_HIDDEN: &str = "ham notspam nospam notdeleted nothidden";

/// What the operator says about columns.
#[derive(Clone, Debug, Default)]
pub struct StatusOptions {
    /// Columns with the values of published reviews.
    pub published_if: Vec<PublishedIf>,
    /// Columns that say nothing about publishing.
    pub ignored: Vec<String>,
}

/// A column and the values of published reviews.
#[derive(Clone, Debug)]
pub struct PublishedIf {
    /// The name of the column.
    pub column: String,
    /// The values, compared without case and punctuation.
    pub values: Vec<String>,
}

/// Parses `COLUMN=VALUE,VALUE`.
///
/// # Errors
/// A message for the command line if the text is not of this form.
pub fn parse_published_if(text: &str) -> Result<PublishedIf, &'static str> {
    let Some((column, values)) = text.rsplit_once('=') else {
        return Err("must be of the form COLUMN=VALUE,VALUE");
    };
    let values = values.split(',').map(normal);
    Ok(PublishedIf {
        column: column.trim().to_owned(),
        values: values.collect(),
    })
}

/// A column with the values that it has in a source.
pub(super) struct StatusColumn<'c> {
    /// Its name as written, for messages.
    pub(super) name: &'c str,
    pub(super) normal: &'c str,
    /// Short values, without repetitions.
    pub(super) values: &'c [String],
    /// Whether there are more values, or long ones.
    pub(super) has_more: bool,
    /// Whether the operator or the format says that this is the status.
    pub(super) is_named: bool,
}

impl StatusColumn<'_> {
    /// Whether the operator's `name` is that of the column, as written or nearly so.
    fn is_called(&self, name: &str) -> bool {
        name == self.name || normal(name) == self.normal
    }
}

/// How to read the values of a status column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StatusRule {
    /// Only these values are published.
    Listed(Vec<String>),
    /// A positive value is published; a blank one is hidden if the others are yes and no.
    Shown { is_blank_hidden: bool },
    /// A positive value, or a date, is hidden.
    Hidden,
}

/// Why a column that may hide reviews cannot be used.
#[derive(Debug, Error)]
#[error(
    "the column {column} may say which reviews are published, but {value} is not understood: list the values of published \
     reviews with --published-if '{name}=VALUE,VALUE', or exclude the column with --ignore '{name}'"
)]
pub(super) struct StatusError {
    column: String,
    name: String,
    value: String,
}

/// Returns the rule for a column; `None` if it is not about publishing.
pub(super) fn rule_of(
    column: &StatusColumn<'_>,
    options: &StatusOptions,
) -> Result<Option<StatusRule>, StatusError> {
    let mut published_if = options.published_if.iter();
    if let Some(asked) = published_if.find(|one| column.is_called(&one.column)) {
        return Ok(Some(StatusRule::Listed(asked.values.clone())));
    }
    if options.ignored.iter().any(|name| column.is_called(name)) {
        return Ok(None);
    }
    let Some(sense) = sense_of(column) else {
        return Ok(None);
    };
    let values: Vec<&String> = column
        .values
        .iter()
        .filter(|value| !normal(value).is_empty())
        .collect();
    let rule = match sense {
        Sense::Hidden => StatusRule::Hidden,
        Sense::Shown => StatusRule::Shown {
            is_blank_hidden: !values.is_empty() && values.iter().all(|value| is_answer(value)),
        },
    };
    let first_unknown = values.iter().find(|value| hides(&rule, value).is_none());
    let has_known = values.iter().any(|value| hides(&rule, value).is_some());
    let is_weak = is_listed(WEAK_NAMES, column.normal) || !is_status_name(column.normal);
    // A column of names or sentences, such as the state of an address, is not about publishing.
    if is_weak && !column.is_named && !has_known && is_prose(&values, column) {
        return Ok(None);
    }
    let is_dated = !values.is_empty() && values.iter().all(|value| is_date(&normal(value)));
    let unknown = if let Some(value) = first_unknown {
        value.as_str()
    } else if column.has_more && !is_dated {
        "one of many values"
    } else {
        return Ok(Some(rule));
    };
    let name = column.name.trim();
    Err(StatusError {
        column: quote(column.name),
        name: if can_be_typed(name) { name } else { "COLUMN" }.to_owned(),
        value: quote(unknown),
    })
}

/// Whether a value is yes, no, or the day since which it is yes.
fn is_answer(value: &str) -> bool {
    let value = normal(value);
    is_listed(YES, &value) || is_listed(NO, &value) || is_date(&value)
}

/// Whether a value hides its review; `None` if it is not understood.
pub(super) fn hides(rule: &StatusRule, value: &str) -> Option<bool> {
    let value = value.trim();
    let plain = normal(value);
    let is_blank = plain.is_empty();
    // A check mark has no letters, so it is blank, too.
    let is_check_mark = is_blank && is_listed(YES, value);
    match rule {
        StatusRule::Listed(values) => Some(!values.contains(&plain)),
        StatusRule::Shown { is_blank_hidden } => {
            if is_blank {
                return Some(*is_blank_hidden && !is_check_mark);
            }
            if is_listed(HIDDEN, &plain) || is_listed(NO, &plain) {
                return Some(true);
            }
            // The day on which a review was published.
            if is_listed(SHOWN, &plain) || is_listed(YES, &plain) || is_date(&plain) {
                return Some(false);
            }
            None
        }
        StatusRule::Hidden => {
            if is_blank {
                return Some(is_check_mark);
            }
            let is_not = is_listed(NO, &plain) || is_listed(NOT_HIDDEN, &plain);
            if is_not || is_listed(SHOWN, &plain) {
                return Some(false);
            }
            if is_date(&plain) || is_listed(YES, &plain) || is_listed(HIDDEN, &plain) {
                return Some(true);
            }
            None
        }
    }
}

/// Whether a value without punctuation may be a date.
fn is_date(plain: &str) -> bool {
    plain.len() >= 8 && plain.starts_with(|c: char| c.is_ascii_digit())
}

#[derive(Clone, Copy)]
enum Sense {
    Shown,
    Hidden,
}

fn sense_of(column: &StatusColumn<'_>) -> Option<Sense> {
    let name = column.normal;
    if is_listed(HIDDEN_NAMES, name) {
        return Some(Sense::Hidden);
    }
    let has_dates = column.values.iter().any(|value| is_date(&normal(value)));
    if is_listed(DATED_NAMES, name) && has_dates {
        return Some(Sense::Shown);
    }
    if column.is_named || is_listed(SHOWN_NAMES, name) {
        return Some(Sense::Shown);
    }
    // In a question, such as "May we publish this at any time?", the other words say little.
    let is_question = column.name.split_whitespace().count() >= 4;
    if is_question && has_part(name, SHOWN_PARTS) {
        return Some(Sense::Shown);
    }
    // `created_at`, `posted on`.
    let is_day =
        name.ends_with("at") || (name.ends_with("on") && has_part(name, "published posted"));
    if is_day || has_part(name, OTHER_PARTS) {
        return None;
    }
    if has_part(name, HIDDEN_PARTS) {
        return Some(Sense::Hidden);
    }
    if has_part(name, SHOWN_PARTS) {
        return Some(Sense::Shown);
    }
    None
}

/// Whether a name contains one of these parts.
fn has_part(name: &str, parts: &str) -> bool {
    parts.split_whitespace().any(|part| name.contains(part))
}

/// Whether a name is one of a column about publishing.
pub(super) fn is_status_name(name: &str) -> bool {
    is_listed(SHOWN_NAMES, name) || is_listed(HIDDEN_NAMES, name)
}

/// Whether values are words, such as places and names, rather than numbers and codes.
fn is_prose(values: &[&String], column: &StatusColumn<'_>) -> bool {
    if column.has_more {
        return true;
    }
    let mut values = values.iter();
    !values.any(|value| value.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, values: &[&str]) -> Result<Option<StatusRule>, StatusError> {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let normal = normal(name);
        let column = StatusColumn {
            name,
            normal: &normal,
            values: &values,
            has_more: false,
            is_named: false,
        };
        rule_of(&column, &StatusOptions::default())
    }

    /// Whether a review with this value is hidden, in a column that also has `other`.
    fn is_hidden(name: &str, value: &str, other: &str) -> Option<bool> {
        let rule = outcome(name, &[value, other]).ok()??;
        hides(&rule, value)
    }

    #[test]
    fn every_column_that_says_not_public_hides_its_review() {
        for (name, hidden, shown) in [
            ("status", "hidden", "published"),
            ("status", "pending", "approved"),
            ("status", "Unpublished", "Published"),
            ("state", "unpublished", "published"),
            ("review_status", "rejected", "approved"),
            ("moderation_status", "REJECTED", "APPROVED"),
            ("moderation", "declined", "accepted"),
            ("published", "false", "true"),
            ("published", "0", "1"),
            ("is_published", "no", "yes"),
            ("publish", "No", "Yes"),
            ("visible", "false", "true"),
            ("visibility", "private", "public"),
            ("hidden", "true", "false"),
            ("is_hidden", "1", "0"),
            ("spam", "true", "false"),
            ("is_spam", "1", "0"),
            ("deleted", "true", "false"),
            ("deleted_at", "2024-03-01", ""),
            ("archived", "true", "false"),
            ("flagged", "true", "false"),
            ("is_approved", "0", "1"),
            ("approved", "no", "yes"),
            ("display", "0", "1"),
            ("active", "0", "1"),
            ("public", "false", "true"),
            ("curated", "not-yet", "ok"),
            ("Freigegeben", "nein", "ja"),
            ("Veröffentlicht", "nein", "ja"),
            ("Statut", "en attente", "publié"),
            ("Estado", "pendiente", "publicado"),
            ("May we publish this?", "No", "Yes"),
            ("Pouvons-nous publier ?", "Non", "Oui"),
            ("Mogen we dit publiceren?", "Nee", "Ja"),
            ("Czy możemy opublikować?", "Nie", "Tak"),
            ("Får vi publicera detta?", "Nej", "Ja"),
            ("Yayınlayabilir miyiz?", "Hayır", "Evet"),
            ("公開してもよいですか", "いいえ", "はい"),
            ("Consent to share", "no", "yes"),
            ("is_demo", "true", "false"),
            ("post_status", "draft", "publish"),
            ("wc_status", "hold", "approved"),
            ("May we publish this at any time?", "No", "Yes"),
        ] {
            assert_eq!(
                is_hidden(name, hidden, shown),
                Some(true),
                "{name}={hidden}"
            );
            assert_eq!(
                is_hidden(name, shown, hidden),
                Some(false),
                "{name}={shown}"
            );
            // Also if no other value shows what the column means.
            assert_eq!(
                is_hidden(name, hidden, ""),
                Some(true),
                "{name}={hidden} alone"
            );
        }
    }

    #[test]
    fn a_value_that_is_not_understood_is_an_error_with_the_two_ways_on() {
        for (name, value) in [
            ("status", "Q7"),
            ("Statut", "xyz"),
            ("state", "3"),
            ("hidden", "maybe"),
        ] {
            let error = outcome(name, &[value])
                .expect_err("not understood")
                .to_string();
            for way in [
                format!("--published-if '{name}=VALUE"),
                format!("--ignore '{name}'"),
            ] {
                assert!(error.contains(&way), "{error}");
            }
        }
    }

    #[test]
    fn a_name_that_cannot_be_typed_is_not_part_of_a_command() {
        for name in ["sta\ntus", "sta'tus"] {
            let error = outcome(name, &["Q7"])
                .expect_err("not understood")
                .to_string();
            assert!(error.contains("--ignore 'COLUMN'"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn columns_about_something_else_are_left_alone() {
        for (name, value) in [
            ("state", "Texas"),
            ("display", "Ann"),
            ("Order status", "completed"),
            ("verification_status", "verified"),
            ("Status of your visit", "First time"),
            ("publishedAtDate", "2024-03-01"),
            ("text", "hidden"),
        ] {
            assert_eq!(outcome(name, &[value]).expect("no status"), None, "{name}");
        }
    }

    #[test]
    fn a_blank_means_no_beside_yes_and_nothing_beside_words() {
        for (values, expected) in [
            (["yes", ""], true),
            (["2024-03-01", ""], true),
            (["published", ""], false),
        ] {
            let rule = outcome("published", &values)
                .expect("understood")
                .expect("a status");
            assert_eq!(hides(&rule, ""), Some(expected), "{values:?}");
        }
    }
}
