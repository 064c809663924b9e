import pytest

from tests.browser.chrome import Chrome, find_browser


@pytest.fixture(scope="session")
def chrome(tmp_path_factory):
    """A browser for all tests; they skip where there is none."""
    binary = find_browser()
    if binary is None:
        pytest.skip("needs a Chromium: apt-get install chromium, or CHROME=/path/of/one")
    browser = Chrome(binary, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
