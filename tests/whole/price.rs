//! Tests that the command and the simulated world use the same prices.

#[test]
fn a_dry_run_s_write_unit_costs_what_the_counted_ones_cost() {
    let (said, counted) = (cli::load::dry_run::WRITE_UNIT, sim::price::WRITE_UNIT);
    assert!((said - counted).abs() < f64::EPSILON, "{said} {counted}");
}
