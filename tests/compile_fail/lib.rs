//! Nothing: the programs that must not compile are in `cases`.
