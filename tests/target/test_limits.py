from kernlint.target.limits import ARCHITECTURES, KIB, architecture, least_shared_memory, most_shared_memory


def test_a_target_is_found_in_its_usual_spellings() -> None:
    row = architecture("sm_90")
    assert row is not None
    assert row.shared_opt_in == 227 * KIB
    assert architecture("sm_90a") is row
    assert architecture("compute_90") is row


def test_an_unknown_target_has_no_row() -> None:
    assert architecture("gfx942") is None
    assert architecture("") is None
    assert most_shared_memory(("gfx942",)) is None


def test_the_strictest_and_the_largest_target_are_told_apart() -> None:
    targets = ("sm_80", "sm_86", "sm_90")
    assert least_shared_memory(targets) == (99 * KIB, "sm_86")
    assert most_shared_memory(targets) == (227 * KIB, "sm_90")


def test_every_row_fits_its_multiprocessor() -> None:
    for row in ARCHITECTURES.values():
        assert row.shared_opt_in <= row.shared_per_sm
