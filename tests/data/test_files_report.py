from viewfinder.data.files import Dropped, ReadReport


def test_a_report_reads_as_a_sentence() -> None:
    assert str(ReadReport(80, 80)) == "80 of 80 found"
    assert str(ReadReport(None, 3)) == "3 found"
    dropped = (Dropped("7.jpg", "no such file"), Dropped("8.jpg", "no caption"))
    assert str(ReadReport(4, 2, dropped)) == "2 of 4 found, 2 left out (first: 7.jpg: no such file)"
