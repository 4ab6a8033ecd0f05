use super::*;

fn guard(allow_private: bool) -> Guard {
    Guard {
        allow_private,
        ports: Ports::parse("443,8443,1024-").expect("ports"),
    }
}

fn permits(allow_private: bool, address: &str) -> bool {
    guard(allow_private)
        .check_address(address.parse().expect(address))
        .is_ok()
}

#[test]
fn global_unicast_is_permitted() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:200::1",
        "2400::1",
        "3ffe::1",
        "3fff:1000::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    ] {
        assert!(
            permits(false, address) && permits(true, address),
            "{address}"
        );
    }
}

#[test]
fn private_addresses_need_the_flag() {
    for address in [
        "10.0.0.0",
        "10.255.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "::1",
        "fc00::1",
        "fd12:3456::1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "64:ff9b::192.168.1.1",
    ] {
        assert!(
            !permits(false, address) && permits(true, address),
            "{address}"
        );
    }
}

#[test]
fn link_local_metadata_multicast_and_reserved_addresses_are_always_refused() {
    for address in [
        "0.0.0.0",
        "0.255.255.255",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.255.255",
        "100.100.100.200",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::2",
        "::127.0.0.1",
        "::8.8.8.8",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:10::1",
        "2001:1ff::1",
        "2001:db8::1",
        "2002::1",
        "2002:0808:0808::1",
        "3fff::1",
        "3fff:fff::1",
        "fd00:ec2::254",
        "64:ff9b:1::1",
        "::ffff:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "::ffff:0.0.0.0",
        "100::1",
        "5f00::1",
        "1fff::1",
        "4000::1",
    ] {
        assert!(
            !permits(false, address) && !permits(true, address),
            "{address}"
        );
    }
}

#[test]
fn names_of_private_networks_need_the_flag() {
    for name in [
        "localhost",
        "a.localhost",
        "printer",
        "printer.local",
        "db.internal",
        "x.home.arpa",
        "x.test",
        "x.onion",
        "x.lan",
        "localhost.localdomain",
    ] {
        let callback = Callback::parse(&format!("https://{name}/")).expect(name);
        assert_eq!(
            guard(false).check_callback(&callback),
            Err(Blocked::Name(name.to_owned()))
        );
        assert_eq!(guard(true).check_callback(&callback), Ok(()));
    }
    for name in [
        "a.example",
        "notlocalhost.com",
        "local.example",
        "xtest.org",
        "internal.example.com",
    ] {
        let callback = Callback::parse(&format!("https://{name}/")).expect(name);
        assert_eq!(guard(false).check_callback(&callback), Ok(()), "{name}");
    }
}

#[test]
fn ports_are_443_8443_and_from_1024_unless_told_otherwise() {
    for (port, permitted) in [
        (443, true),
        (8443, true),
        (1024, true),
        (65535, true),
        (1023, false),
        (22, false),
        (80, false),
    ] {
        let callback = Callback::parse(&format!("https://a.example:{port}/")).expect("URL");
        assert_eq!(
            guard(false).check_callback(&callback).is_ok(),
            permitted,
            "{port}"
        );
    }
}

#[test]
fn port_ranges_are_checked() {
    assert_eq!(
        Ports::parse("443, 1-2,7-"),
        Ok(Ports(vec![(443, 443), (1, 2), (7, 65535)]))
    );
    for text in ["", "0", "65536", "a", "2-1", "-5", "443,", "1-2-3"] {
        assert!(Ports::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_refused_port_names_those_that_are_permitted() {
    let callback = Callback::parse("https://s.example:80/").expect("a callback");
    let blocked = guard(false).check_callback(&callback).expect_err("blocked");
    assert_eq!(
        blocked.to_string(),
        "port 80 is not permitted, but 443, 8443 and 1024 to 65535"
    );
}
