import Foundation
import Jobs
import Testing

@Suite struct JSONTextTests {
    private func json(_ text: String) throws -> JSONText { try JSONText(checking: Array(text.utf8)) }

    @Test func integersAreReadHoweverTheyAreWritten() throws {
        #expect(try json(" 12 ").integer == 12)
        #expect(try json("2.0").integer == 2)
        #expect(try json("2e3").integer == 2000)
        #expect(try json("9223372036854775807").integer == .max)
        #expect(try json("9223372036854775808").integer == nil)
        #expect(try json("2.5").integer == nil)
        #expect(try json("\"2\"").integer == nil)
        #expect(try json("1e400").double == nil)
    }

    @Test func stringsAreDecodedAndWrittenBack() throws {
        let text = "q\" b\\ s/ n\n r\r t\t u\u{1} é 😀 \u{7F}"
        let written = JSONText(string: text)
        #expect(try json(written.string).decodedString == text)
        #expect(try json(#" "\u00e9\uD83D\uDE00\/" "#).decodedString == "é😀/")
    }

    @Test func objectKeepsOrderAndBytesOfItsFields() throws {
        let object = try #require(JSONObject(json(#"{ "b" : [ 1 , 2 ] , "a" : 1.50 }"#)))
        #expect(object.names == ["b", "a"])
        #expect(object["b"]?.string == "[ 1 , 2 ]")
        #expect(object.text.string == #"{"b":[ 1 , 2 ],"a":1.50}"#)
        #expect(JSONObject(try json("[]")) == nil)
    }

    @Test func overlayReplacesWholeFields() throws {
        let under = try #require(JSONObject(json(#"{"a":{"x":1},"b":2}"#)))
        let over = try #require(JSONObject(json(#"{"c":3,"a":{"y":1}}"#)))
        #expect(under.overlaid(by: over).text.string == #"{"a":{"y":1},"b":2,"c":3}"#)
    }

    @Test func overlayOfManyFieldsIsTheSameAsOfFew() throws {
        func object(_ names: Range<Int>, _ value: Int) -> JSONObject {
            var object = JSONObject()
            for name in names { object["f\(name)"] = JSONText(integer: value) }
            return object
        }
        let result = object(0..<40, 1).overlaid(by: object(20..<60, 2))
        #expect(result.names == (0..<60).map { "f\($0)" })
        #expect(result["f19"]?.string == "1" && result["f20"]?.string == "2" && result["f59"]?.string == "2")
    }

    @Test func canonicalFormForgetsOrderAndSpaceOnly() throws {
        let a = try json(#"{"b": [1, {"d":"\u00e9","c":1.0}], "a": null}"#)
        let b = try json(#"{"a":null,"b":[1,{"c":1.0,"d":"é"}]}"#)
        #expect(a.canonical == b && b.canonical == b)
        #expect(a.compact.string == #"{"b":[1,{"d":"é","c":1.0}],"a":null}"#)
        #expect(try json("[1,2]").canonical != json("[2,1]").canonical)
    }

    @Test func codedValueIsTheValueItself() throws {
        struct Holder: Codable { var value: JSONText }
        for text in [
            #"{"a":[1,2.5,"x",null,true,{}]}"#, "null", "18446744073709551615", "-5", "\"\\u00e9\"", "[]", "0.1",
        ] {
            let value = try json(text)
            let data = try JSONEncoder().encode(Holder(value: value))
            let back = try JSONDecoder().decode(Holder.self, from: data)
            #expect(back.value == value.canonical, "\(text)")
        }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(json("1e400")) }
    }
}
