//! The `business` object of `reviews.json`.

use super::field::{Check, Kind};
use super::node::Node;
use super::place::Place;
use crate::model::{Address, Business, BusinessService, BusinessTechnician, Geo};

/// Decodes the business; every key is required, `geo` may be null and the lists empty.
pub(super) fn decode(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Business> {
    let keys = [
        "name",
        "type",
        "description",
        "url",
        "telephone",
        "email",
        "address",
        "geo",
        "opening_hours",
        "service_areas",
        "services",
        "technicians",
        "same_as",
    ];
    let slots = check.object(slot, at, keys)?;
    let [
        name,
        kind,
        description,
        url,
        telephone,
        email,
        address,
        geo,
        hours,
        areas,
        services,
        people,
        same_as,
    ] = slots;
    let name = check.string(name, &at.key("name"), Kind::Name);
    let kind = check.string(kind, &at.key("type"), Kind::Name);
    let description = check.string(description, &at.key("description"), Kind::Words);
    let url = check.string(url, &at.key("url"), Kind::Url);
    let telephone = check.string(telephone, &at.key("telephone"), Kind::Line);
    let email = check.string(email, &at.key("email"), Kind::Line);
    let address = decode_address(address, &at.key("address"), check);
    let geo = decode_geo(geo, &at.key("geo"), check);
    let opening_hours = check.strings(hours, &at.key("opening_hours"), Kind::Name);
    let service_areas = check.strings(areas, &at.key("service_areas"), Kind::Name);
    let services = decode_services(services, &at.key("services"), check);
    let technicians = decode_technicians(people, &at.key("technicians"), check);
    let same_as = check.strings(same_as, &at.key("same_as"), Kind::Url);
    Some(Business {
        name: name?,
        kind: kind?,
        description: description?,
        url: url?,
        telephone: telephone?,
        email: email?,
        address: address?,
        geo: geo?,
        opening_hours: opening_hours?,
        service_areas: service_areas?,
        services: services?,
        technicians: technicians?,
        same_as: same_as?,
    })
}

fn decode_address(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Address> {
    let keys = [
        "street_address",
        "locality",
        "region",
        "postal_code",
        "country",
    ];
    let [street_address, locality, region, postal_code, country] = check.object(slot, at, keys)?;
    let street_address = check.string(street_address, &at.key("street_address"), Kind::Line);
    let locality = check.string(locality, &at.key("locality"), Kind::Line);
    let region = check.string(region, &at.key("region"), Kind::Line);
    let postal_code = check.string(postal_code, &at.key("postal_code"), Kind::Line);
    let country = check.string(country, &at.key("country"), Kind::Line);
    Some(Address {
        street_address: street_address?,
        locality: locality?,
        region: region?,
        postal_code: postal_code?,
        country: country?,
    })
}

fn decode_geo(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Option<Geo>> {
    if slot == Some(Node::Null) {
        return Some(None);
    }
    let [latitude, longitude] = check.object(slot, at, ["latitude", "longitude"])?;
    let latitude = check.number(latitude, &at.key("latitude"), -90.0, 90.0);
    let longitude = check.number(longitude, &at.key("longitude"), -180.0, 180.0);
    Some(Some(Geo {
        latitude: latitude?.to_string(),
        longitude: longitude?.to_string(),
    }))
}

fn decode_services(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Vec<BusinessService>> {
    let services = check.each(slot, at, |check, node, at| {
        let [id, label] = check.object(Some(node), at, ["id", "label"])?;
        let id = check.string(id, &at.key("id"), Kind::Name);
        let label = check.string(label, &at.key("label"), Kind::Name);
        Some(BusinessService {
            id: id?,
            label: label?,
        })
    })?;
    check.unique(services.iter().map(|service| service.id.as_str()), at, "id");
    Some(services)
}

fn decode_technicians(
    slot: Option<Node<'_>>,
    at: &Place<'_>,
    check: &mut Check<'_>,
) -> Option<Vec<BusinessTechnician>> {
    let people = check.each(slot, at, |check, node, at| {
        let [name, title] = check.object(Some(node), at, ["name", "title"])?;
        let name = check.string(name, &at.key("name"), Kind::Name);
        let title = check.string(title, &at.key("title"), Kind::Line);
        Some(BusinessTechnician {
            name: name?,
            title: title?,
        })
    })?;
    check.unique(people.iter().map(|person| person.name.as_str()), at, "name");
    Some(people)
}
