"""A report as one web page that needs nothing else: `report_page`.

The page is HTML, CSS and JavaScript written by hand, in ``assets/``; `page.py` puts them and the data into one file,
`data.py` says what the script gets to know. Nothing is fetched: the page forbids itself the network.
"""

from tvm_memplan.report.page.page import report_page

__all__ = ["report_page"]
