//! Measures the kernel: a step, a fork, a whole tree. Run with `cargo xtask bench`.

mod driver;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use guildhall_kernel::{Contract, Millis};

use driver::{final_text, fork, root, talk, tool_result, tool_turn, tree};

/// One step of a contract with a short transcript and with a long one. Both must take the same time.
fn one_step(c: &mut Criterion) {
    let mut group = c.benchmark_group("step");
    for turns in [10, 100, 1_000, 10_000] {
        let contract = talk(turns);
        group.bench_with_input(
            BenchmarkId::new("reply with a tool call, after turns", turns),
            &contract,
            |b, contract| {
                b.iter_batched(
                    || contract.clone(),
                    |mut contract| contract.step(tool_turn(&contract), Millis(0)),
                    BatchSize::SmallInput,
                );
            },
        );
        let mut called = contract.clone();
        called.step(tool_turn(&called), Millis(0));
        group.bench_with_input(BenchmarkId::new("tool result, after turns", turns), &called, |b, contract| {
            b.iter_batched(
                || contract.clone(),
                |mut contract| contract.step(tool_result(&contract), Millis(0)),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// A fork refers to its hirer's request, so its cost does not depend on the length of the transcript.
fn one_fork(c: &mut Criterion) {
    let mut group = c.benchmark_group("fork");
    for turns in [10, 10_000] {
        let contract = talk(turns);
        group.bench_with_input(BenchmarkId::new("hire a fork, after turns", turns), &contract, |b, contract| {
            b.iter_batched(
                || contract.clone(),
                |mut contract| contract.step(fork(&contract), Millis(0)),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn whole_tree(c: &mut Criterion) {
    let mut group = c.benchmark_group("tree");
    group.sample_size(10);
    // 1 + 10 + … + 100,000: every contract hires ten, down to the fifth level.
    group.bench_function("111,111 contracts to completion", |b| {
        b.iter(|| assert_eq!(tree(10, 5), 111_111));
    });
    group.finish();
}

/// The shortest contract: a brief, a reply, a report.
fn one_contract(c: &mut Criterion) {
    c.bench_function("contract, from brief to report", |b| {
        let brief = root();
        b.iter(|| {
            let (mut contract, _) = Contract::open(brief.clone(), Millis(0)).expect("the brief breaks no law");
            let reply = final_text(&contract);
            contract.step(reply, Millis(0))
        });
    });
}

criterion_group!(benches, one_contract, one_step, one_fork, whole_tree);
criterion_main!(benches);
