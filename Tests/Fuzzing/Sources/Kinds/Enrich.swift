/// In place of the kind, which needs the network.
public enum Enrich {}
