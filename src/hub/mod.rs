//! The WebSub hub: requests and changed topics into stored state, and that into HTTPS requests to callbacks.
//!
//! [`request`] turns a form into a [`HubRequest`] or a [`Refusal`]; [`subscription`] is the life of one pair of
//! callback and topic, events in and effects out; [`store`] says what must be atomic and on disk before it is
//! promised and keeps it in a file, or in a database that replicas share, and [`store_location`] says which. These
//! know neither a socket nor the clock: `now` comes in as a [`Moment`].
//!
//! [`Hub`] is the handle. Behind it one thread has the store and decides (`engine`), and a [`pool`] of threads of its
//! own, never shared with requests, does the exchanges with callbacks: [`client`] sends, [`resolve`] and [`guard`] say
//! where to, [`breaker`] tells their faults from ours.
//!
//! # Requirements and their tests
//!
//! The MUSTs and SHOULDs that the W3C Recommendation WebSub (2 June 2026) lays on a hub, numbered in the order of its
//! sections (H, and P for the publisher's side), with the tests that hold them. MAYs that are not taken up (H7, H11,
//! H12, H33, H34) have no line.
//!
//! | requirement | tests |
//! |---|---|
//! | H1, H2, H5 (§3.1, §5.1) requests by callback, mode and topic; with a secret; to unsubscribe | `h1_mode_callback_and_topic_are_enough`<br>`h2_a_secret_is_taken`<br>`h5_unsubscribe_is_taken`<br>`h5_a_verified_unsubscription_ends_it_and_without_one_nothing_happens` |
//! | H3, H43, H45, H62 (§5.1, §5.3, §8) leases are bounded, never perpetual, ten days by default | `h43_h45_h62_leases_are_clamped_and_the_default_is_ten_days`<br>`h45_leases_are_clamped_and_only_the_default_is_jittered` |
//! | H4, H18, H20 (§5.1) a renewal replaces secret and lease once it is verified | `h4_h18_h20_a_renewal_switches_secret_and_lease_and_keeps_one_subscription`<br>`h18_h20_a_renewal_replaces_secret_and_lease_and_leaves_what_is_owed` |
//! | H6, H9, H46, H47, H48, P1 (§3.1, §4, §7) the full content, with the media type and the links of the topic | `h6_h47_each_topic_comes_with_its_own_media_type`<br>`h9_h46_h48_a_change_brings_the_full_content_as_the_body`<br>`p1_h6_h47_h48_a_changed_dataset_comes_as_a_get_of_the_topic_would_answer` |
//! | H8, H58, H59, H60, H61, H65, H66 (§7.1, §8) signatures | `h8_h58_h59_h60_h65_h66_with_a_secret_every_delivery_is_signed_over_its_body`<br>`h60_h61_the_signature_is_hmac_sha256_over_the_body`<br>`without_a_secret_nothing_is_signed` |
//! | H10, H21, H22, H31 (§5.1) our own policy: https only, our topics only, no private hosts | `h21_plain_http_callbacks_are_refused`<br>`unknown_topics_are_refused_and_nothing_is_created`<br>`private_literals_and_names_are_refused_with_a_line_that_names_the_field` |
//! | H13, H14, H15, H16, H17 (§5.1) the form and its fields | `h14_only_forms_in_utf8_are_taken`<br>`h15_the_lease_is_ignored_on_unsubscription`<br>`h16_a_secret_of_199_bytes_is_taken_and_of_200_refused`<br>`h17_unknown_fields_are_ignored_repeated_or_not` |
//! | H19 (§5.1) a failed verification leaves the state unchanged | `h19_a_failed_verification_of_a_renewal_or_unsubscription_changes_nothing` |
//! | H23 (§5.1.1) escaped unreserved characters are decoded | `h23_escaped_unreserved_characters_are_decoded_and_others_kept`<br>`h23_the_topic_is_normalized_and_kept_as_given` |
//! | H24, H25, H26, H64 (§5.1.1, §8) the exact callback, its own query kept | `h24_the_callbacks_own_query_is_kept_and_pairs_are_appended`<br>`h25_pairs_of_the_same_name_are_not_overwritten`<br>`h9_h46_h48_a_change_brings_the_full_content_as_the_body` |
//! | H27, H28, H32 (§5.1.2) 202 at once, whatever comes of the verification | `h27_a_request_that_can_be_handled_is_answered_202`<br>`h32_the_answer_is_the_same_whatever_comes_of_the_verification` |
//! | H29, H30 (§5.1.2) errors are 4xx or 5xx, in plain text | `h29_h30_each_missing_empty_or_repeated_field_is_named`<br>`h29_h30_refusals_are_a_4xx_with_one_plain_line`<br>`bounds_of_what_is_kept_are_429_for_a_host_and_503_for_all` |
//! | H35, H38, H40 (§5.3) the verification request, and the lease that counts from it | `h35_h38_h40_the_verification_carries_mode_topic_challenge_and_lease`<br>`h38_h40_an_unsubscription_is_verified_with_all_four_parameters`<br>`h38_the_verification_repeats_the_topic_as_it_was_given`<br>`h40_the_lease_counts_from_the_verification_request` |
//! | H36, H37, H57 (§5.2, §7) what the hub ends it denies | `three_failed_deliveries_remove_and_the_callback_is_told_once`<br>`remove_tells_the_subscriber_and_leaves_a_tombstone`<br>`removals_that_the_subscriber_knows_of_are_not_told` |
//! | H39, H63 (§5.3, §8) the challenge: permitted characters, random, used once | `h39_h63_challenges_are_43_permitted_characters_and_never_the_same` |
//! | H41, H42 (§5.3) only a 2xx with exactly the challenge confirms | `h41_h42_only_a_2xx_with_exactly_the_challenge_confirms`<br>`h42_an_answer_that_differs_by_a_byte_does_not_confirm` |
//! | H44 (§5.3) leases end | `h44_a_lease_that_ends_ends_the_subscription_without_a_word`<br>`h44_nothing_is_due_from_the_end_of_the_lease_on` |
//! | H49, H50, H51 (§7) one Link field with hub and self | `h49_h50_h51_one_link_field_names_the_topic_first_and_the_hub` |
//! | H52, H53, H54 (§7) 410 ends, any 2xx is success, all else failure, bodies are ignored | `h52_a_410_removes_at_once`<br>`h53_any_2xx_acknowledges_and_every_other_status_fails`<br>`h53_redirects_are_failures_and_never_followed`<br>`h54_the_answers_body_is_not_read` |
//! | H55, H56 (§7) retries within limits | `h55_two_failures_and_a_success_keep_the_subscription`<br>`three_failed_deliveries_remove_and_the_callback_is_told_once` |
//! | H67 (§8) https everywhere | `a_handshake_that_hangs_or_a_certificate_that_is_wrong_fails_the_verification`<br>`certificates_are_checked_against_the_name_and_not_the_address` |
//!
//! H57 asks to keep a subscription until its lease ends, however often deliveries fail. Our interface removes it after
//! three failures in a row; that is a denial at a time of the hub's choosing (H37), and so it is told (H36).

pub mod breaker;
pub mod callback;
pub mod client;
mod engine;
mod exchange;
pub mod guard;
mod handle;
mod in_flight;
pub mod moment;
pub mod policy;
pub mod pool;
pub mod priority;
pub mod refusal;
mod removal;
pub mod request;
pub mod resolve;
pub mod settings;
pub mod signature;
pub mod stats;
pub mod store;
pub mod store_location;
pub mod subscription;
mod tcp;
pub mod tls;
#[cfg(feature = "postgres")]
mod wait;

pub use callback::{Callback, Host};
pub use handle::{Health, Hub, StartError};
pub use moment::Moment;
pub use refusal::{Refusal, RefusalKind};
pub use request::{HubRequest, Mode, Secret};
pub use settings::{Lanes, Outside, Settings};
pub use store_location::StoreLocation;
#[cfg(feature = "postgres")]
pub use wait::await_store;
