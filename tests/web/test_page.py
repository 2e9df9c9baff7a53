"""The web page in a real headless Chromium, over the fake engine. README.md here says how to run it.

CUZK_FAKE_DAEMON names the binary, CUZK_CHROMIUM the browser (when unset: beside this Python, as
scripts/setup_page_test puts it there, or on the PATH), CUZK_WEB_SHOTS a folder for screenshots (none are taken when
unset). With CUZK_REQUIRE_PAGE_TEST=1 what is missing is an error.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest



def find_chromium():
    beside = pathlib.Path(sys.executable).parent / "chromium"
    return os.environ.get("CUZK_CHROMIUM") or (str(beside) if beside.exists() else shutil.which("chromium"))


def missing():
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed for " + sys.executable
    if not find_chromium():
        return "no Chromium"
    return "" if os.environ.get("CUZK_FAKE_DAEMON") else "CUZK_FAKE_DAEMON is not set"


if missing():
    if os.environ.get("CUZK_REQUIRE_PAGE_TEST") == "1":
        raise RuntimeError(f"the test of the web page cannot run: {missing()} (scripts/setup --test)")
    pytest.skip(f"{missing()} (scripts/setup --test)", allow_module_level=True)

from playwright import sync_api  # noqa: E402

DAEMON, CHROMIUM, SHOTS = os.environ["CUZK_FAKE_DAEMON"], find_chromium(), os.environ.get("CUZK_WEB_SHOTS")

DESKTOP, PHONE = (1440, 900), (390, 844)
VIEWS = {
    "overview": "#/",
    "jobs": "#/jobs",
    "done": "#/job/porep-1000-4212",
    "running": "#/job/porep-1000-4213",
    "failed": "#/job/snap-1000-%3Cb%3E77%3C%2Fb%3E",
    "unknown": "#/job/never-heard-of",
}


class Daemon:
    def __init__(self, address="127.0.0.1:0", token="", scene=None):
        args = [DAEMON, address, token] + ([scene] if scene else [])
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}/"

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def daemon():
    d = Daemon()
    yield d
    d.stop()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as p:
        b = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield b
        b.close()


class Watch:
    """What a page must not do: errors in the console, requests to other hosts."""

    def __init__(self, page):
        self.errors, self.hosts = [], set()
        page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        page.on("request", lambda r: self.hosts.add(r.url.split("/")[2]) if r.url.startswith("http") else None)


def open_page(browser, size=DESKTOP, scheme="light", scale=1):
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme,
                                  device_scale_factor=scale, has_touch=size == PHONE)
    page = context.new_page()
    page.set_default_timeout(15000)
    page.watch = Watch(page)
    return page


@pytest.fixture
def page(browser):
    p = open_page(browser)
    yield p
    p.context.close()


def go(page, daemon, view):
    page.goto(daemon.url + VIEWS[view])
    page.wait_for_selector("#health.good")
    page.wait_for_selector("main h1")
    page.wait_for_timeout(150)  # drawing follows the data by a frame


def wait_until(page, js, arg=None, seconds=20):
    """Poll from here: the page's policy forbids the eval that Playwright's own waiting uses."""
    end = time.monotonic() + seconds
    while not page.evaluate(js, arg):
        assert time.monotonic() < end, js
        page.wait_for_timeout(50)


def ink(page):
    """The picture on the canvas, to see whether it changed."""
    page.wait_for_timeout(80)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    return page.evaluate("document.querySelector('#tl canvas').toDataURL()")


def details(page):
    return page.inner_text("#span-details")


def wait_rows(page, n):
    wait_until(page, "n => document.querySelectorAll('table.spans tbody tr').length === n", n)


def wait_details(page, start):
    """The page draws on the browser's frames: on a busy machine a little after the click."""
    wait_until(page, "start => document.querySelector('#span-details').innerText.startsWith(start)", start)


# ---- what is shown ----

def test_overview_shows_the_whole_daemon(page, daemon):
    go(page, daemon, "overview")
    text = page.inner_text("main")
    for want in ["4,699", "507", "cuda:0", "porep-32g", "45 GiB", "WindowPoSt", "Out of work after faults: cuda:1", "99.8 %", "19 GiB of 64 GiB"]:
        assert want in text, want
    assert page.locator(".col").count() == 60
    page.locator(".col").nth(58).hover()
    assert "1 min ago" in page.inner_text(".axis")
    assert page.watch.errors == [] and page.watch.hosts == {daemon.url.split("/")[2]}


def test_jobs_are_listed_and_filtered(page, daemon):
    go(page, daemon, "jobs")
    rows = page.locator("table.jobs tbody tr")
    assert rows.count() == 55
    page.fill("input[type=search]", "4213")
    assert rows.count() == 1 and page.inner_text("table.jobs .c-id") == "porep-1000-4213"
    page.fill("input[type=search]", "")
    page.select_option("select >> nth=0", "queued")
    wait_until(page, "document.querySelectorAll('table.jobs tbody tr').length === 7")
    assert "state=queued" in page.url
    page.reload()
    wait_until(page, "document.querySelectorAll('table.jobs tbody tr').length === 7")
    page.select_option("select >> nth=0", "")
    page.select_option("select >> nth=1", "snap-update")
    wait_until(page, "document.querySelectorAll('table.jobs tbody tr').length === 1")
    page.fill("input[type=search]", "no such thing")
    page.click("text=Open the job with the id")
    page.wait_for_selector("text=does not know this job")


def test_texts_of_the_daemon_stay_text(page, daemon):
    go(page, daemon, "jobs")
    assert page.locator("main b, main img").count() == 0
    assert "snap-1000-<b>77</b>" in page.inner_text("main")
    page.click("text=snap-1000-<b>77</b>")
    page.wait_for_selector("text=Timeline")
    assert "<img src=x onerror=" in page.inner_text(".banner.bad")
    assert page.locator("main img").count() == 0 and "owned" not in page.title()
    assert page.watch.errors == []


def test_odd_ids_are_reached_by_their_links(page, daemon):
    go(page, daemon, "jobs")
    for job_id in ["wdpost-1000-0-[12 7 200 9 1 88 3 41]", "a/b?c=é&d%2F"]:
        page.goto(daemon.url + "#/jobs")
        page.locator("a.id", has_text=job_id).click()
        wait_until(page, "id => document.querySelector('h1 .id')?.textContent === id", job_id)


def test_finished_job_shows_times_timeline_and_gap(page, daemon):
    go(page, daemon, "done")
    assert "1,920 bytes, verified" in page.inner_text("main")
    assert "device 3.40 s" in page.inner_text(".split")
    assert "182 ms in prove, partition 6, on cuda:0" in page.inner_text(".gaps")
    page.click("text=182 ms in prove")
    wait_details(page, "Unaccounted 182 ms")
    page.click("summary")
    wait_rows(page, 146)
    page.locator("table.spans button", has_text="msm_h").first.click()
    wait_details(page, "msm_h 212 ms, partition 0, on cuda:0")
    href = page.get_attribute("text=Trace for Perfetto", "href")
    assert href == "api/jobs/porep-1000-4212/timeline?format=perfetto"
    with page.expect_download() as d:
        page.click("text=Trace for Perfetto")
    assert d.value.suggested_filename == "cuzk-porep-1000-4212.json"
    assert page.watch.errors == []


def test_running_job_moves_on_its_own(page, daemon):
    go(page, daemon, "running")
    wait_until(page, "Number(document.querySelector('.bar.big').getAttribute('aria-valuenow')) > 20")
    for _ in range(3):
        seen = page.get_attribute(".bar.big", "aria-valuenow")
        wait_until(page, "seen => document.querySelector('.bar.big').getAttribute('aria-valuenow') !== seen", seen)


def test_running_partitions_are_told_apart(page, daemon):
    go(page, daemon, "overview")
    wait_until(page, "document.querySelector('.part.p-done')")
    text, shown = page.inner_text(".parts + div"), page.evaluate("document.querySelectorAll('.part').length")
    assert shown == 10 and " done" in text and sum(int(n) for n in re.findall(r"\d+", text)) == 10, text
    assert re.fullmatch(r"partition 0: done, witness 120 ms, device 600 ms", page.get_attribute(".part.p-done", "title"))


# ---- nothing at all, and a lot ----

def test_daemon_without_devices_says_so(browser):
    d = Daemon(scene="empty")
    page = open_page(browser)
    go(page, d, "overview")
    text = page.inner_text("main")
    for want in ["no device to prove on", "The key of snap-32g could not be loaded: no file <b>v28</b>.", "No proof in the last hour", "Nothing is running", "No key is loaded", "Nothing was proven yet"]:
        assert want in text, want
    assert "NaN" not in text and "undefined" not in text
    go(page, d, "jobs")
    assert "There are no jobs yet" in page.inner_text("main")
    assert page.watch.errors == []
    page.context.close()
    d.stop()


@pytest.fixture(scope="module")
def crowd():
    d = Daemon(scene="crowd")
    yield d
    d.stop()


def test_long_queue_hides_neither_what_runs_nor_what_is_next(page, crowd):
    go(page, crowd, "jobs")
    ids = page.locator("table.jobs .c-id").all_inner_texts()
    assert len(ids) == 148 and ids[:3] == ["porep-1000-4213", "porep-1000-4214", "porep-1000-4215"]
    assert "porep-1000-4212" in ids and "148 jobs loaded, there are more" in page.inner_text("main")
    page.click("text=Load more")
    wait_until(page, "document.querySelectorAll('table.jobs tbody tr').length === 348")
    page.click("text=Load more")
    wait_until(page, "document.querySelectorAll('table.jobs tbody tr').length === 548")
    assert page.locator("text=Load more").count() == 0


def test_many_partitions_fit(browser, crowd):
    page = open_page(browser, PHONE)
    go(page, crowd, "overview")
    assert page.locator(".part").count() == 64
    assert page.evaluate("document.querySelector('.parts').getBoundingClientRect().height") < 80
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.context.close()


def test_ten_thousand_spans_are_drawn_as_few(page, crowd):
    go(page, crowd, "done")
    assert "1,234 more spans did not fit" in page.inner_text("main")
    # Rectangles of one picture: spans thinner than a pixel share one. Time would tell of the machine.
    count = """() => new Promise((done) => {
        let n = 0;
        const p = CanvasRenderingContext2D.prototype, fill = p.fillRect;
        p.fillRect = function (...args) { n++; return fill.apply(this, args); };
        document.querySelector('#tl canvas').dispatchEvent(new KeyboardEvent('keydown', { key: '0' }));
        requestAnimationFrame(() => requestAnimationFrame(() => { p.fillRect = fill; done(n); }));
    })"""
    drawn = page.evaluate(count)
    assert 200 < drawn < 3000, drawn
    page.click("summary")
    wait_rows(page, 2000)
    assert "The first 2,000 of 9,9" in page.inner_text("main")
    assert page.watch.errors == []


# ---- moving about in the timeline ----

def test_keys_zoom_pan_and_walk(page, daemon):
    go(page, daemon, "done")
    page.focus("#tl canvas")
    pictures = [ink(page)]
    for key in ["+", "+", "Shift+ArrowRight", "-", "PageUp", "0"]:
        page.keyboard.press(key)
        pictures.append(ink(page))
    assert len(set(pictures[:-1])) == len(pictures) - 1 and pictures[-1] == pictures[0]
    page.keyboard.press("ArrowRight")
    wait_details(page, "job 5.80 s")
    page.keyboard.press("ArrowDown")
    text = "document.querySelector('#span-details').innerText"
    wait_until(page, f"!{text}.startsWith('job 5.80 s')")
    first = details(page)
    page.keyboard.press("ArrowRight")
    wait_until(page, f"first => {text} !== first && {text}.includes(' in job')", first)
    page.keyboard.press("g")
    wait_details(page, "Unaccounted 182 ms")
    page.keyboard.press("Escape")
    wait_details(page, "Point at")


def test_wheel_zooms_only_when_asked(page, daemon):
    go(page, daemon, "done")
    box = page.locator("#tl canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 60
    page.mouse.move(x, y)
    before = ink(page)
    page.mouse.wheel(0, 120)
    wait_until(page, "scrollY > 0 || document.querySelector('#tl').scrollTop > 0")
    page.evaluate("scrollTo(0, 0); document.querySelector('#tl').scrollTop = 0")
    assert ink(page) == before, "a plain wheel scrolls"
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    assert ink(page) != before


def test_mouse_drags_and_points(page, daemon):
    go(page, daemon, "done")
    box = page.locator("#tl canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 34)
    wait_details(page, "job 5.80 s")
    page.focus("#tl canvas")
    page.keyboard.press("+")
    before = ink(page)
    page.mouse.move(box["x"] + 800, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 200, steps=5)
    page.mouse.up()
    assert ink(page) != before


def test_fingers_pinch_and_tap(browser, daemon):
    page = open_page(browser, PHONE, scale=2)
    go(page, daemon, "done")
    page.locator("#tl canvas").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    box = page.locator("#tl canvas").bounding_box()
    y, mid = box["y"] + 40, box["x"] + box["width"] / 2
    cdp = page.context.new_cdp_session(page)

    def touch(kind, *xs):
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y, "id": i} for i, x in enumerate(xs)]})

    before = ink(page)
    touch("touchStart", mid - 20, mid + 20)
    for d in (30, 50, 80, 110):
        touch("touchMove", mid - d, mid + d)
    touch("touchEnd")
    assert ink(page) != before
    page.touchscreen.tap(mid, y - 6)
    wait_details(page, "job 5.80 s")
    page.context.close()


# ---- when things go wrong ----

def test_lost_daemon_is_said_and_found_again(browser):
    first = Daemon()
    page = open_page(browser)
    go(page, first, "overview")
    first.stop()
    page.wait_for_selector("text=No connection:", timeout=20000)
    assert page.inner_text("#health") == "no answer"
    assert "What you see is" in page.inner_text("#banner") and "4,699" in page.inner_text("main")
    second = Daemon(f"127.0.0.1:{first.port}")
    page.click("text=Try now")
    page.wait_for_selector("#health.good")
    assert page.inner_text("#banner") == ""
    page.context.close()
    second.stop()


def test_back_off_grows(browser):
    d = Daemon()
    page = open_page(browser)
    go(page, d, "overview")
    d.stop()
    times = []
    page.on("requestfailed", lambda r: times.append(time.monotonic()))
    page.wait_for_selector("text=No connection:", timeout=20000)
    page.wait_for_timeout(15500)
    gaps = [b - a for a, b in zip(times, times[1:])]
    assert len(gaps) >= 2 and gaps[1] > 1.5 * gaps[0], gaps
    page.context.close()


def test_hidden_pages_do_not_ask(page, daemon):
    go(page, daemon, "overview")
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    hide = """v => {
        Object.defineProperty(document, 'hidden', { value: v, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    page.wait_for_timeout(300)
    asked.clear()
    page.wait_for_timeout(5000)
    assert asked == []
    page.evaluate(hide, False)
    page.wait_for_timeout(1000)
    assert asked


def test_token_is_asked_for_and_kept(browser):
    d = Daemon(token="s3cret")
    page = open_page(browser)
    page.goto(d.url)
    page.wait_for_selector("#token")
    assert page.inner_text("#health") == "locked"
    page.fill("#token", "wrong")
    page.click("text=Open")
    page.wait_for_selector("text=The token was refused")
    page.fill("#token", "s3cret")
    page.click("text=Open")
    page.wait_for_selector("#health.good")
    page.reload()
    page.wait_for_selector("#health.good")
    page.goto(d.url + VIEWS["done"])
    with page.expect_download() as download:
        page.click("text=Trace for Perfetto")
    assert '"traceEvents"' in pathlib.Path(download.value.path()).read_text(encoding="utf-8")
    page.context.close()
    d.stop()


# ---- for everyone ----

CONTRAST = """() => {
    const rgb = (s) => (s.match(/[\\d.]+/g) || []).map(Number);
    const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (el) => {
        for (; el; el = el.parentElement) {
            const c = rgb(getComputedStyle(el).backgroundColor);
            if (c.length === 3 || c[3] === 1) return c;
        }
        return [255, 255, 255];
    };
    const bad = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let n = walker.nextNode(); n; n = walker.nextNode()) {
        const el = n.parentElement, box = el.getBoundingClientRect();
        if (!n.data.trim() || !box.width || el.closest('.sr, .skip, noscript, option')) continue;
        const [a, b] = [lum(rgb(getComputedStyle(el).color)), lum(ground(el))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) bad.push(n.data.trim().slice(0, 40) + ' ' + ratio.toFixed(2));
    }
    return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_view_fits_and_is_legible(browser, daemon, size, scheme):
    page = open_page(browser, size, scheme)
    for view in VIEWS:
        go(page, daemon, view)
        if view == "done":
            page.click("summary")
            wait_rows(page, 146)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
        assert page.evaluate(CONTRAST) == [], view
    page.context.close()


def test_colours_can_be_chosen_and_stay(page, daemon):
    go(page, daemon, "done")
    light = (page.evaluate("getComputedStyle(document.body).backgroundColor"), ink(page))
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme").endswith("Dark")
    dark = (page.evaluate("getComputedStyle(document.body).backgroundColor"), ink(page))
    assert light[0] != dark[0] and light[1] != dark[1]
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark[0]


def test_keyboard_reaches_everything_and_keeps_its_place(page, daemon):
    go(page, daemon, "done")
    names = []
    for _ in range(14):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"))
    for want in ["Skip to content", "Overview", "Jobs", "Zoom in", "Whole job", "Trace for Perfetto"]:
        assert want in names, (want, names)
    assert any(n.startswith("Timeline of the job") for n in names)
    go(page, daemon, "jobs")
    page.locator("a.id").nth(3).focus()
    page.wait_for_timeout(4500)  # two polls
    assert page.evaluate("document.activeElement.className") == "id"


@pytest.mark.skipif(not SHOTS, reason="CUZK_WEB_SHOTS is not set")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_screenshots(browser, daemon, size, scheme):
    name = "desktop" if size == DESKTOP else "phone"
    for view in ["overview", "jobs", "done", "running"]:
        page = open_page(browser, size, scheme, 1 if size == DESKTOP else 2)
        go(page, daemon, view)
        if view == "running":
            wait_until(page, "[...document.querySelectorAll('.facts dd')].some((e) => /^[4-8] of 10/.test(e.textContent))")
        if view == "overview":
            wait_until(page, "document.querySelector('.p-done') && document.querySelector('.p-gpu')")
        if view == "done" or (view == "running" and size == PHONE):
            page.evaluate("document.querySelector('.tools').scrollIntoView()")
            page.evaluate("scrollBy(0, -110)")
        page.wait_for_timeout(150)
        page.screenshot(path=str(pathlib.Path(SHOTS) / f"web-{view}-{name}-{scheme}.png"))
        page.context.close()
