// Kinds
