import Jobs
import Testing

@Suite struct JSONWriterTests {
    @Test func nestedValuesAreSeparated() {
        let text = JSONWriter.text { writer in
            writer.array([[1, 2], [], [3]]) { row, writer in
                writer.array(row) { number, writer in
                    writer.object {
                        $0.field("n", Int64(number))
                        $0.field("rows", [number, number]) { _, writer in writer.array([Int]()) { _, _ in } }
                        $0.field("name", "[")
                    }
                }
            }
        }
        func object(_ number: Int) -> String { #"{"n":\#(number),"rows":[[],[]],"name":"["}"# }
        #expect(text.string == "[[\(object(1)),\(object(2))],[],[\(object(3))]]")
    }
}
