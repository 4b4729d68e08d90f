//! Tests of the simulator, in one program: linking a program takes longer than running its tests.

mod budget;
mod conformance;
mod delegation;
mod payments;
mod trees;
