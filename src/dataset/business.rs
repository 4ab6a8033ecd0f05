//! The `business` object of `reviews.json`: every key is required, `geo` may be null and the lists empty.

use super::json::{Item, Text};
use crate::model::{Address, Business, BusinessService, BusinessTechnician, Geo};

pub(super) fn business(item: Item<'_>) -> Business {
    item.object(|keys| Business {
        name: keys.key("name").string(Text::Name),
        kind: keys.key("type").string(Text::Name),
        description: keys.key("description").string(Text::Words),
        url: keys.key("url").string(Text::Url),
        telephone: keys.key("telephone").string(Text::Line),
        email: keys.key("email").string(Text::Line),
        address: address(keys.key("address")),
        geo: keys.key("geo").non_null().map(geo),
        opening_hours: keys.key("opening_hours").strings(Text::Name),
        service_areas: keys.key("service_areas").strings(Text::Name),
        services: services(keys.key("services")),
        technicians: technicians(keys.key("technicians")),
        same_as: keys.key("same_as").strings(Text::Url),
    })
}

fn address(item: Item<'_>) -> Address {
    item.object(|keys| Address {
        street_address: keys.key("street_address").string(Text::Line),
        locality: keys.key("locality").string(Text::Line),
        region: keys.key("region").string(Text::Line),
        postal_code: keys.key("postal_code").string(Text::Line),
        country: keys.key("country").string(Text::Line),
    })
}

fn geo(item: Item<'_>) -> Geo {
    item.object(|keys| Geo {
        latitude: keys.key("latitude").number(-90.0..=90.0),
        longitude: keys.key("longitude").number(-180.0..=180.0),
    })
}

fn services(item: Item<'_>) -> Vec<BusinessService> {
    item.each_unique(&[("id", |service: &BusinessService| &service.id)], |item| {
        item.object(|keys| BusinessService {
            id: keys.key("id").string(Text::Name),
            label: keys.key("label").string(Text::Name),
        })
    })
}

fn technicians(item: Item<'_>) -> Vec<BusinessTechnician> {
    item.each_unique(
        &[("name", |person: &BusinessTechnician| &person.name)],
        |item| {
            item.object(|keys| BusinessTechnician {
                name: keys.key("name").string(Text::Name),
                title: keys.key("title").string(Text::Line),
            })
        },
    )
}
