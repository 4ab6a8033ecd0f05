use super::*;

fn guard(allow_private: bool) -> Guard {
    Guard {
        allow_private,
        ports: Ports::parse("443,8443,1024-").expect("ports"),
    }
}

/// Checks whether each address of a list is permitted, without the flag for private ones and with it.
fn check(addresses: &str, permitted: [bool; 2]) {
    for text in addresses.split_whitespace() {
        let address = text.parse().expect(text);
        let found = [false, true].map(|flag| guard(flag).permits(address));
        assert_eq!(found, permitted, "{text}");
    }
}

#[test]
fn global_unicast_is_permitted() {
    check(
        "1.1.1.1 11.0.0.0 100.63.255.255 100.128.0.0 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 198.20.0.0
         223.255.255.255 2606:4700::1111 2001:200::1 3ffe::1 3fff:1000::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8",
        [true; 2],
    );
}

#[test]
fn private_addresses_need_the_flag() {
    check(
        "10.255.255.255 127.0.0.1 172.16.0.1 172.31.255.255 192.168.255.255 100.64.0.1 100.127.255.255
         ::1 fc00::1 fd12:3456::1 ::ffff:127.0.0.1 64:ff9b::192.168.1.1",
        [false, true],
    );
}

#[test]
fn link_local_metadata_multicast_and_reserved_addresses_are_always_refused() {
    check(
        "0.0.0.0 169.254.169.254 169.254.255.255 100.100.100.200 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1
         198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::127.0.0.1 fe80::1 ff02::1 2001::1
         2001:db8::1 2002:0808:0808::1 3fff:fff::1 fd00:ec2::254 64:ff9b:1::1 ::ffff:169.254.169.254
         64:ff9b::169.254.169.254 1fff::1 4000::1",
        [false; 2],
    );
}

#[test]
fn names_of_private_networks_need_the_flag() {
    let private = "localhost a.localhost printer db.internal x.home.arpa";
    let public = "a.example notlocalhost.com local.example xtest.org";
    for (names, is_private) in [(private, true), (public, false)] {
        for name in names.split(' ') {
            let callback = Callback::parse(&format!("https://{name}/")).expect(name);
            let found = [false, true].map(|flag| guard(flag).check_callback(&callback).is_ok());
            assert_eq!(found, [!is_private, true], "{name}");
        }
    }
}

#[test]
fn an_address_in_place_of_a_name_is_checked_without_a_lookup() {
    for (host, address) in [
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[::ffff:10.0.0.1]", "::ffff:10.0.0.1"),
    ] {
        let callback = Callback::parse(&format!("https://{host}/")).expect(host);
        let found = [false, true].map(|flag| guard(flag).check_callback(&callback));
        let refused = GuardError::Address(address.parse().expect(address));
        assert_eq!(found, [Err(refused), Ok(())], "{host}");
    }
    let public = Callback::parse("https://1.1.1.1/").expect("a URL");
    assert_eq!(guard(false).check_callback(&public), Ok(()));
}

#[test]
fn a_refusal_of_a_port_names_the_ranges() {
    let found = |port: u16| {
        let callback = Callback::parse(&format!("https://a.example:{port}/")).expect("URL");
        guard(false).check_callback(&callback)
    };
    for port in [443, 8443, 1024, 65535] {
        assert_eq!(found(port), Ok(()));
    }
    for port in [22, 80, 1023] {
        let what = format!("port {port} is not one of 443,8443,1024-");
        assert_eq!(found(port).map_err(|error| error.to_string()), Err(what));
    }
}

#[test]
fn ports_are_single_or_ranges() {
    let ports = Ports::parse("443, 1-2,5-5,7-").expect("ports");
    assert_eq!(ports.ranges, [443..=443, 1..=2, 5..=5, 7..=65535]);
}

#[test]
fn a_wrong_list_of_ports_is_refused_with_its_part() {
    for (text, part) in [
        ("", ""),
        ("0", "0"),
        ("65536", "65536"),
        ("a", "a"),
        ("-5", ""),
        ("443,", ""),
        ("1-2-3", "2-3"),
    ] {
        let error = PortsError::NotAPort(part.to_owned());
        assert_eq!(Ports::parse(text), Err(error), "{text}");
    }
    let error = PortsError::EmptyRange("2-1".to_owned());
    assert_eq!(Ports::parse("443,2-1"), Err(error));
}
