import CivilCalendar
import Jobs
import NIOSSL
import WebSyntax

/// The facts about a refused certificate that an error message needs.
///
/// The validity is parsed from DER here, since NIOSSL's accessors crash the process when a time is invalid.
struct PeerCertificate {
    let issuer: [UInt8]
    let subject: [UInt8]
    let validFrom: Timestamp
    let validUntil: Timestamp
    /// Whether the certificate says where its issuer's certificate can be downloaded. Certificates from public
    /// authorities do.
    let namesItsIssuersAddress: Bool
    /// The issuer's common name. This text is untrusted.
    let issuerName: String
    /// The subject's common name. This text is untrusted.
    let subjectName: String

    var isSelfIssued: Bool { issuer == subject }

    init?(_ certificate: NIOSSLCertificate) {
        // The error does not matter: without its DER encoding, a certificate cannot be described.
        guard let bytes = try? certificate.toDERBytes() else { return nil }
        var whole = DERReader(bytes[...])
        guard var outer = whole.enter(), var fields = outer.enter(), var field = fields.next() else { return nil }
        if field.tag == DERReader.version {
            // Skips the version; the next field is the serial number.
            guard let next = fields.next() else { return nil }
            field = next
        }
        guard fields.next() != nil, let issuer = fields.next(), var validity = fields.enter(),
            let from = validity.next(), let until = validity.next(), let subject = fields.next(),
            let validFrom = Self.time(from), let validUntil = Self.time(until)
        else { return nil }
        self.issuer = Array(issuer.whole)
        self.subject = Array(subject.whole)
        self.validFrom = validFrom
        self.validUntil = validUntil
        namesItsIssuersAddress = bytes.firstRange(of: Self.issuersAddress) != nil
        issuerName = Self.commonName(certificate.issuerName)
        subjectName = Self.commonName(certificate.subjectName)
    }

    /// The DER encoding of the object identifier id-ad-caIssuers (RFC 5280, 4.2.2.1).
    private static let issuersAddress: [UInt8] = [0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x02]

    private static func commonName(_ names: [SSLCertificateName]) -> String {
        let name = names.last { $0.type == .commonName } ?? names.last
        return String((name?.value ?? "?").printable.prefix(100))
    }

    /// Parses `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
    private static func time(_ element: DERReader.Element) -> Timestamp? {
        var digits = element.content
        guard digits.popLast() == UInt8(ascii: "Z"), digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        func number(_ count: Int) -> Int {
            defer { digits = digits.dropFirst(count) }
            return digits.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        let year: Int
        switch (element.tag, digits.count) {
        case (DERReader.utcTime, 12):
            let short = number(2)
            year = short < 50 ? 2000 + short : 1900 + short
        case (DERReader.generalizedTime, 14): year = number(4)
        default: return nil
        }
        guard let day = CivilDate(year: year, month: number(2), day: number(2)) else { return nil }
        let seconds = number(2) * 3600 + number(2) * 60 + number(2)
        return Timestamp(milliseconds: Int64(day.daysSince1970 * 86_400 + seconds) * 1000)
    }
}
