extension Migration {
    static let views: StaticString = """
        CREATE VIEW queues AS SELECT * FROM queue JOIN tally ON tally.queue_id = queue.id;
        """
}
