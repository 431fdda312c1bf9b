"""The console in headless Chromium: over a night in virtual time, and over a real deployment."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.ui import WebDriverWait

from cronce.cli.emulator import Emulator
from cronce.client import Client
from cronce.console import site as site_module
from cronce.console.site import Site
from support.acted import Acted
from support.browsing import serving
from support.chromium import chromium, complaints, seen_in
from support.emulator import eventually
from support.hooks import Hooks

pytestmark = pytest.mark.browser

T = TypeVar("T")
PATHS = ["/", "/jobs", "/jobs/cleanup", "/jobs/broken.export", "/attention", "/health"]

# Of every element with text of its own, its colour against what lies behind it.
CONTRASTS = """
const parse = (text) => {
  const n = text.match(/[\\d.]+/g).map(Number);
  return text.startsWith('color(srgb') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1]
                                       : [n[0], n[1], n[2], n[3] ?? 1];
};
const light = (c) => {
  const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] === 1) return c;
  }
  return [255, 255, 255, 1];
};
const found = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const box = e.getBoundingClientRect();
  if (!own || box.width < 2 || e.closest('svg')) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 120)]);
}
return found;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[WebDriver]:
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def shown(night: Acted) -> Iterator[Site]:
    """To be looked at only."""
    with serving(night) as site:
        yield site


@pytest.fixture
def worked(evening: Acted) -> Iterator[Site]:
    """To be worked with."""
    with serving(evening) as site:
        yield site


@pytest.fixture(autouse=True)
def fresh(browser: WebDriver) -> None:
    seen_in(browser, "light", 1280)
    scripts(browser, allowed=True)
    complaints(browser)


def scripts(browser: WebDriver, *, allowed: bool) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})


def opened(browser: WebDriver, site: Site, path: str = "/") -> None:
    browser.get(site.keys.address)
    assert "key=" not in browser.current_url
    visit(browser, site, path)


def visit(browser: WebDriver, site: Site, path: str) -> None:
    browser.get(f"http://127.0.0.1:{site.keys.port}{path}")


def soon(browser: WebDriver, look: Callable[[], T]) -> T:
    """The first answer that is true; a page that goes away meanwhile is looked at again."""
    gone = (StaleElementReferenceException, NoSuchElementException)
    return WebDriverWait(browser, 30, 0.1, gone).until(lambda _: look())


def reads(browser: WebDriver, words: str) -> None:
    """Sooner or later the page says so."""
    soon(browser, lambda: words in text_of(browser))


def text_of(browser: WebDriver) -> str:
    return str(browser.find_element(By.TAG_NAME, "body").text)


def press(browser: WebDriver, *keys: str) -> None:
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def focused(browser: WebDriver) -> Any:
    return browser.switch_to.active_element


def tab_to(browser: WebDriver, words: str) -> Any:
    """By the keyboard alone."""
    for _ in range(80):
        press(browser, Key.TAB)
        if (focused(browser).text or "").startswith(words):
            return focused(browser)
    raise AssertionError(f"{words!r} cannot be reached from the keyboard")


# --- over a night in virtual time


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(browser: WebDriver, shown: Site, scheme: str) -> None:
    seen_in(browser, scheme, 1280)
    opened(browser, shown)
    papers = set()
    for path in PATHS:
        visit(browser, shown, path)
        found = browser.execute_script(CONTRASTS)
        assert len(found) > 10
        weak = [(round(ratio, 2), what) for ratio, what in found if ratio < 4.5]
        assert weak == [], path
        papers.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    (paper,) = papers
    dark = sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) < 384
    assert dark == (scheme == "dark")
    assert complaints(browser) == []


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_nothing_sticks_out(browser: WebDriver, shown: Site, width: int) -> None:
    seen_in(browser, "light", width)
    opened(browser, shown)
    for path in PATHS:
        visit(browser, shown, path)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, path
    assert complaints(browser) == []


def test_what_others_wrote_runs_nowhere(browser: WebDriver, shown: Site) -> None:
    opened(browser, shown)
    for path in ("/", "/attention", "/jobs/broken.export"):
        visit(browser, shown, path)
        reads(browser, "<script>alert(1)</script>")
        loose = "return document.querySelectorAll('main script, main img, [onerror]').length"
        assert browser.execute_script(loose) == 0
    assert complaints(browser) == []


def test_scripts_of_others_would_be_refused(browser: WebDriver, shown: Site) -> None:
    opened(browser, shown)
    inject = "const s = document.createElement('script'); s.textContent = 'window.ran = true';"
    browser.execute_script(f"{inject} document.body.append(s)")
    assert browser.execute_script("return window.ran") is None
    assert any("Content Security Policy" in line for line in complaints(browser))


def test_the_first_key_skips_to_the_content(browser: WebDriver, shown: Site) -> None:
    opened(browser, shown)
    press(browser, Key.TAB)
    link = focused(browser)
    assert link.text == "Skip to content"
    assert link.location["y"] >= 0
    assert "none" not in link.value_of_css_property("outline-style")
    press(browser, Key.ENTER)
    soon(browser, lambda: focused(browser).get_attribute("id") == "main")


def test_a_job_is_paused_from_the_keyboard(
    browser: WebDriver, worked: Site, evening: Acted
) -> None:
    opened(browser, worked, "/jobs/cleanup?live=off")
    button = tab_to(browser, "Pause")
    assert button.value_of_css_property("outline-style") == "solid"
    press(browser, Key.ENTER)
    reads(browser, "Pause?")
    soon(browser, lambda: focused(browser).text == "Pause")
    ActionChains(browser).key_down(Key.SHIFT).send_keys(Key.TAB).key_up(Key.SHIFT).perform()
    press(browser, "audit", Key.ENTER)
    reads(browser, "The job is paused.")
    assert (
        evening.get_job("cleanup")["status"] | {"state": "paused", "reason": "audit"}
        == (evening.get_job("cleanup")["status"])
    )
    assert complaints(browser) == []


def test_it_works_without_scripts(browser: WebDriver, worked: Site, evening: Acted) -> None:
    scripts(browser, allowed=False)
    opened(browser, worked)
    run = evening.attention_page(limit=1)["runs"][0]
    found = browser.find_elements(By.XPATH, "//button[starts-with(normalize-space(), 'Redrive')]")
    found[0].click()
    reads(browser, "gets new attempts")
    assert evening.get_run(run["job_id"], run["run_id"])["status"] == "retrying"
    browser.find_element(By.LINK_TEXT, "Jobs").click()
    reads(browser, "until the audit is over")


def test_it_refreshes_itself_but_not_under_the_hands(
    browser: WebDriver, worked: Site, evening: Acted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_module, "LIVE_SECONDS", 1)
    opened(browser, worked)
    browser.execute_script("window.same = true")

    def succeeded() -> int:
        tile = browser.find_element(By.CSS_SELECTOR, ".tile .figure")
        return int(tile.text)

    before = succeeded()
    evening.run(600)
    soon(browser, lambda: succeeded() > before)
    assert browser.execute_script("return window.same") is True
    held = browser.find_element(By.CSS_SELECTOR, "#live .choice a")
    browser.execute_script("arguments[0].focus()", held)
    asked = len(evening.requests)
    browser.execute_async_script("setTimeout(arguments[0], 2500)")
    assert len(evening.requests) == asked
    assert focused(browser) == held
    assert complaints(browser) == []


# --- over a deployment on the emulator


def test_a_deployment_is_operated(
    browser: WebDriver, deployment: Emulator, client: Client, hooks: Hooks
) -> None:
    name = f"console.{uuid.uuid4().hex[:8]}"
    for job_id, path in ((f"{name}.good", "/ok"), (f"{name}.bad", "/status/410")):
        target = {"http": {"url": f"{hooks.url}{path}"}}
        client.put_job(job_id, {"schedule": "@yearly", "target": target, "description": "<b>x"})
    with serving(client, deployment.stack) as site:
        opened(browser, site, f"/jobs/{name}.good")
        browser.find_element(By.PARTIAL_LINK_TEXT, "Run now").click()
        browser.find_element(By.XPATH, "//main//form//button").click()
        reads(browser, "was asked for")
        soon(browser, lambda: _ended(browser, "succeeded"))
        assert hooks.of(f"{name}.good")
        bad = client.run_job(f"{name}.bad")
        eventually(lambda: client.get_run(f"{name}.bad", bad["run_id"])["status"] == "failed")
        visit(browser, site, "/attention")
        reads(browser, f"{name}.bad")
        visit(browser, site, f"/jobs/{name}.bad/runs/{bad['run_id']}")
        reads(browser, "sent at once by the API")
        browser.find_element(By.PARTIAL_LINK_TEXT, "Redrive").click()
        browser.find_element(By.XPATH, "//main//form//button").click()
        reads(browser, "gets new attempts")
        eventually(lambda: client.get_run(f"{name}.bad", bad["run_id"])["attempt"] == 2)
        visit(browser, site, "/")
        reads(browser, "How it went")
        assert complaints(browser) == []
        keep = browser.get_screenshot_as_png()
    assert keep.startswith(b"\x89PNG")
    for job_id in (f"{name}.good", f"{name}.bad"):
        client.delete_job(job_id)


def _ended(browser: WebDriver, status: str) -> bool:
    browser.refresh()
    chips = browser.find_elements(By.CSS_SELECTOR, "#live .chip")
    return any(chip.text == status for chip in chips)
