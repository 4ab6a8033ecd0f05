//! The words that the rules go by, with blanks between them where nothing else is said.

/// schema.org types of practices whose advertising is bound by such rules.
pub(super) const LAW_TYPES: [&str; 3] = ["LegalService", "Attorney", "Notary"];

/// schema.org types that a law practice may have as well, and that do not say so.
pub(super) const OPEN_TYPES: [&str; 3] = ["LocalBusiness", "ProfessionalService", "Organization"];

/// Words that make an amount of a number before them.
pub(super) const CURRENCIES: &str =
    "dollar dollars euro euros pounds bucks grand yen francs usd eur gbp chf cad aud jpy";

/// Codes that make an amount of a number after them, in lower case.
pub(super) const CODES: &str = "usd eur gbp chf cad aud jpy";

/// Numbers of figures that make an amount, as in "six figures".
pub(super) const FIGURES: &str = "four five six seven eight nine 4 5 6 7 8 9";

/// Without one of these a text neither names money nor promises anything.
pub(super) const HINTS: &str = "$ € £ ¥ dollar eur pounds bucks grand usd gbp chf cad aud jpy yen francs figure guarant garant win lose lost \
success 0k 1k 2k 3k 4k 5k 6k 7k 8k 9k 0m 1m 2m 3m 4m 5m 6m 7m 8m 9m";

/// Beginnings of words that make a result of an amount; at most four letters may follow.
pub(super) const RESULTS: &str =
    "settle recover awarded verdict judgment judgement compensat damages payout insurer";

/// The same, unless the amount may be what was paid for it.
pub(super) const GAINS: &str = "win award offer got receiv refund obtain secure securing result outcome \
negotiat walked saved reduc insurance";

/// Pairs of words that say that somebody else paid.
pub(super) const PAYOUTS: &str = "paid out,pays out,were paid";

/// Beginnings of words for what was paid.
pub(super) const EXPENSES: &str =
    "bill invoice fee charg cost price retainer paid pay hour quote estimat";

/// Phrases that promise an outcome by themselves, in lower case, with commas between them.
pub(super) const PROMISES: &str = "always win,always wins,never lose a case,never loses a case,never lost a case,can't lose,cannot lose,will win your,\
will win you,will win the case,will win every,wins every case,win every case,sure to win,certain to win,\
100% success,100 % success,100% win,win 99%,wins 99%,99% success,you will win,you'll win,you are going to win,\
you're going to win,assured me i would win,assured me we would win,assured us we would win,promised me i would win,\
promised i would win,promised we would win,promised i'd win,promised we'd win,promised me we would win,promised us we would win,promised a win,\
promise you a win";

/// Beginnings of "guarantee", in lower case.
pub(super) const GUARANTEES: &str = "guarant garantiz";

/// Words before a guarantee that deny it.
pub(super) const DENIALS: &str =
    "not no never cannot nobody without nothing neither nunca sin nadie";

/// What does not count between a denial and a guarantee.
pub(super) const PARTICLES: &str = "a an any the or and nor to of promise warranty";

/// Words that make an assurance of a denial before them: "no doubt", "not kidding".
pub(super) const AFFIRMED: &str =
    "kidding joking joke lying exaggerating exaggeration doubt question wonder";

/// Beginnings of words for how a matter ends.
pub(super) const OUTCOMES: &str = "win won result outcome success victor settlement verdict case approv dismiss acquit compensation éxito \
ganar";

/// Titles of people, in lower case.
pub(super) const TITLES: &str =
    "mr mrs ms miss mx dr judge justice officer detective sr sra srta señora";

/// People around a client, in lower case.
pub(super) const RELATIONS: &str = "husband wife ex ex-husband ex-wife spouse partner son daughter child brother sister mother father mom \
mum dad uncle aunt cousin grandmother grandfather neighbor neighbour landlord tenant employer boss";

/// What a number belongs to, in lower case.
pub(super) const CASES: &str = "case docket file claim matter cause expediente caso";

/// What may stand between that and the number, in lower case.
pub(super) const MARKERS: &str = "no nr num number # id número núm";

/// What a client may have come for, in lower case.
pub(super) const MATTERS: &str = "divorce custody arrest conviction dui dwi bankruptcy settlement lawsuit verdict injury injuries accident \
diagnosis immigration visa deportation asylum probation eviction foreclosure inheritance adoption felony \
misdemeanor hearing trial probate paternity alimony guardianship estate divorcio custodia accidente arresto";

/// Last words before a signature, in lower case.
pub(super) const SIGN_OFFS: &str =
    "regards wishes sincerely respectfully cordially truly saludos atentamente cordialmente";

/// Words that are capitalised within a sentence without being the name of a person, in lower case.
pub(super) const CAPITALISED: &str = "\
mr mrs ms miss mx dr prof judge justice officer detective sr sra srta señora don doña saint st \
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september \
october november december spring summer autumn winter new year years happy merry christmas easter thanksgiving \
holidays birthday eve day good best kind warm regards sincerely yours thank thanks dear hello we our us you your \
the and of for in on at to with by from it this that please \
court courts supreme superior district circuit county state states united federal city town municipal hall house \
bar association society board commission department office bureau agency ministry security social homeland \
revenue services service customs citizenship immigration police sheriff attorney attorneys lawyer lawyers law firm \
legal aid counsel partner partners associate associates paralegal team staff client clients manager director \
group company inc llc llp pllc bank insurance university college school hospital church center centre \
google maps facebook yelp avvo trustpilot instagram linkedin zoom whatsapp youtube business profile review reviews \
street avenue road lane drive boulevard square park building suite floor north south east west northern southern \
eastern western central downtown san santa los las el la new york angeles america american english spanish \
español french german european union africa african asia asian mexico mexican act code rule rules article section \
chapter title constitution amendment rights family professional conduct workers compensation zip covid";
