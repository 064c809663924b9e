"""The page in a real browser: what a reader sees and does."""

import pytest

from tests.browser.reports import EVIL, everything, evil, layers, long_names, many
from tvm_memplan.report.page import report_page

SIZES = pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=["wide", "narrow"])


@pytest.fixture
def page(chrome, tmp_path):
    def page(report, size=(1280, 900), **more):
        path = tmp_path / "page.html"
        path.write_text(report_page(report), encoding="utf-8")
        chrome.open(path, *size, **more)
        return chrome

    return page


def text(page, selector):
    return page.ask(f"document.querySelector({selector!r}).innerText")


def visible(page, selector):
    return page.ask(f"document.querySelector({selector!r}).offsetParent !== null")


def middle_of(page, name, pool=0):
    """Where on the screen the middle of a buffer's first rectangle is."""
    return page.ask(
        f"(() => {{ const b = buffers.find(b => b.name === {name!r}), box = canvas.getBoundingClientRect();"
        " const [s, e] = b.spans[0];"
        " return [box.left + plot.x((s + e) / 2), box.top + plot.y((b.offset + b.end) / 2)]; })()"
    )


def overlaps(browser):
    """Parts that hold text or a picture and share an area of the screen, by pairs."""
    return browser.ask(
        "(() => { const parts = [...document.querySelectorAll("
        "'h1, #how, #theme, .pool, .kinds button, .tools button, #map, .time > *, #now, .hint, aside > section, #all')]"
        ".filter(e => e.offsetParent).map(e => [e.id || e.className || e.textContent, e.getBoundingClientRect()]);"
        " return parts.flatMap(([a, p], i) => parts.slice(i + 1).filter(([b, q]) =>"
        " Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&"
        " Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 1).map(([b]) => a + ' on ' + b)); })()"
    )


@SIZES
@pytest.mark.parametrize("report", [everything, many, long_names])
def test_nothing_overlaps_or_sticks_out_at_any_width(page, size, report):
    browser = page(report(), size)
    assert browser.ask("document.documentElement.scrollWidth") == size[0]
    assert overlaps(browser) == []


@SIZES
def test_long_names_show_both_ends_and_lie_on_no_other(page, size):
    browser = page(long_names(), size)
    ends = browser.ask(
        "[...document.querySelectorAll('.label .tail')].filter(e => e.offsetParent).map(e => {"
        " const box = e.getBoundingClientRect(), cell = e.closest('td, li').getBoundingClientRect();"
        " return [e.textContent, box.right <= cell.right + 1]; })"
    )
    assert len(ends) > 10 and all(inside for _, inside in ends)
    assert {f"{i}_relu/Relu6"[-10:] for i in range(8)} <= {text for text, _ in ends}
    labels = browser.ask(
        "(() => { const boxes = [], draw = plot.drawLabel;"
        " plot.drawLabel = box => boxes.push([box.left, box.right, box.top, box.bottom]);"
        " plot.draw(pool(), state); plot.drawLabel = draw; return boxes; })()"
    )
    assert len(labels) > 3
    for i, (left, right, top, bottom) in enumerate(labels):
        for other in labels[:i]:
            across = min(right, other[1]) - max(left, other[0])
            assert across <= 1 or min(bottom, other[3]) - max(top, other[2]) <= 1


def test_an_overlap_would_be_noticed(page):
    browser = page(everything())
    browser.ask("document.querySelector('#now').style.marginTop = '-20px'")
    assert "step on now" in overlaps(browser)


def test_the_page_asks_for_nothing_but_itself_and_complains_of_nothing(page):
    browser = page(everything())
    assert [url.split(":")[0] for url in browser.requests()] == ["file"]
    assert browser.faults() == []
    assert browser.ask("fetch('https://example.org').then(() => 'went out', () => 'refused')") == "refused"


def test_the_map_is_drawn_in_the_colours_of_the_kinds(page):
    browser = page(everything())
    colours = browser.ask(
        "(() => { plot.draw(pool(), state);"
        " const d = plot.context.getImageData(0, 0, canvas.width, canvas.height).data;"
        " const found = new Set(); for (let i = 0; i < d.length; i += 4) found.add(d.slice(i, i + 3).join());"
        " return found.size; })()"
    )
    assert colours > 8
    assert text(browser, "h1") == "a small net"
    assert text(browser, "#how") == "planned with by hand for c"


def test_a_name_that_is_markup_stays_a_name(page):
    browser = page(evil())
    assert browser.faults() == []
    assert browser.ask("[...document.querySelectorAll('img, script[src], iframe')].length") == 0
    assert browser.ask("document.querySelector('h1').textContent") == EVIL
    assert browser.ask("document.title").startswith(EVIL[:20])
    browser.click(*middle_of(browser, EVIL))
    assert browser.ask("document.querySelector('#picked h2').textContent") == EVIL
    assert browser.ask("document.querySelectorAll('#noteList li').length") == 3  # with that of the view
    assert browser.faults() == []


def test_hovering_names_a_buffer_and_clicking_tells_everything(page):
    browser = page(everything())
    x, y = middle_of(browser, "conv.out")
    browser.mouse("mouseMoved", x, y)
    browser.settle()
    tip = text(browser, "#tip")
    for words in ("conv.out", "float32[1, 8, 16, 16]", "activation, 8,192 B (8.0 KiB)", "alive [1, 4)"):
        assert words in tip
    browser.click(x, y)
    picked = text(browser, "#picked")
    for words in ("conv", "sram", "[4,096, 12,288), from 0x1000", "3 steps", "flat: 4,096 B at byte 0", "taken by"):
        assert words in picked
    browser.ask("[...document.querySelectorAll('#picked button.link')].find(b => b.innerText === 'sum').click()")
    browser.settle()
    assert "in place of" in text(browser, "#picked") and "conv.out" in text(browser, "#picked")
    assert text(browser, "#picked h2") == "sum"


def test_two_live_ranges_are_two_rectangles_of_one_buffer(page):
    browser = page(everything())
    hits = browser.ask(
        "[1.5, 3.5, 5.5].map(t => plot.hit(pool(), plot.x(t), plot.y(13000), state.shown)?.name ?? null)"
    )
    assert hits == ["conv.pad", None, "conv.pad"]


def test_searching_filters_the_list_and_fades_the_rest_of_the_map(page):
    browser = page(everything())
    browser.ask("document.querySelector('#search').focus()")
    browser.type("softmax")
    assert text(browser, "#allHead") == "1 of 6 buffers"
    assert browser.ask("buffers.filter(b => !state.faded(b)).map(b => b.name)") == ["scores"]
    browser.press("Enter")
    assert text(browser, "#picked h2") == "scores"
    assert "Step 5" in text(browser, "#now")


def test_buffers_are_called_and_found_by_the_layers_of_the_model(page):
    browser = page(layers())
    browser.ask("document.querySelector('#search').focus()")
    browser.type("conv_3/bias")  # a part of the layer's full name that the short one lacks
    assert browser.ask("buffers.filter(b => !state.faded(b)).map(b => b.name)") == ["sid_3", "fused_conv_3.pad"]
    assert text(browser, "#allHead") == "2 of 6 buffers"
    browser.press("Enter")
    assert text(browser, "#picked h2") == "model/conv_3/Relu"
    picked = text(browser, "#picked")
    for words in ("sid_3", "model/conv_3/Relu;model/conv_3/bias", "net.py:3", "int8[1, 8, 8, 16]", "fused_conv_3"):
        assert words in picked
    assert "model/conv_3/Relu (fused_conv_3)" in text(browser, "#now")
    x, y = middle_of(browser, "fused_conv_3.pad")
    browser.mouse("mouseMoved", x, y)
    browser.settle()
    assert text(browser, "#tip").startswith("pad in model/conv_3/Relu") and "written at net.py:3" in text(
        browser, "#tip"
    )


def test_the_slider_shows_what_is_alive(page):
    browser = page(everything())
    browser.ask("document.querySelector('#step').focus()")
    browser.ask(
        "(() => { const s = document.querySelector('#step'); s.value = 0; s.dispatchEvent(new Event('input')); })()"
    )
    assert text(browser, "#aliveHead") == "Alive at step 0"
    assert text(browser, "#alive").split("\n")[0] == "image"
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    now = text(browser, "#now")
    assert now.startswith("Step 2, relu: 8,192 B in use by 1 buffer, ")
    assert "6,144 B of the arena idle" in now  # planned are 14,336 B


def test_the_peak_and_its_holders_are_shown(page):
    browser = page(everything())
    assert text(browser, "#holdersHead") == "Peak: 14.0 KiB at step 1, conv"
    names = browser.ask("[...document.querySelectorAll('#holders .label')].map(e => e.innerText)")
    assert names == ["conv.out", "image", "conv.pad"]
    assert text(browser, "#aliveHead") == "Alive at step 1"


def test_pools_stand_side_by_side_and_are_chosen_by_a_click(page):
    browser = page(everything())
    boxes = browser.ask("[...document.querySelectorAll('.pool')].map(e => e.getBoundingClientRect().top)")
    assert len(boxes) == 2 and boxes[0] == boxes[1]
    assert "over the bound" in text(browser, ".pool") and "71.7% used" in text(browser, ".pool")
    browser.ask("document.querySelectorAll('.pool')[1].click()")
    browser.settle()
    assert browser.ask("pool().name") == "flash"
    assert browser.ask("document.querySelectorAll('.pool')[1].getAttribute('aria-pressed')") == "true"


def test_zooming_keeps_the_point_under_the_mouse(page):
    browser = page(many())
    x, y = browser.ask("(() => { const b = canvas.getBoundingClientRect(); return [b.left + 500, b.top + 400]; })()")
    before = browser.ask("[plot.step(500), plot.byte(400)]")
    for _ in range(3):
        browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120, modifiers=2)
    browser.settle()
    after = browser.ask("[plot.step(500), plot.byte(400)]")
    assert all(abs(a - b) < 0.01 * b + 1 for a, b in zip(after, before))
    assert browser.ask("state.view.t1 - state.view.t0 < 0.5 * (time.stop - time.start)")
    view = browser.ask("state.view.t0")
    browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", x - 120, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x - 120, y, button="left", clickCount=1)
    browser.settle()
    assert browser.ask("state.view.t0") > view  # dragging to the left shows what is later
    browser.ask("document.querySelector('#fit').click()")
    assert browser.ask("[state.view.t0, state.view.t1]") == browser.ask("[time.start, time.stop]")


def test_the_wheel_alone_scrolls_the_page(page):
    browser = page(everything())
    x, y = middle_of(browser, "sum")
    before = browser.ask("state.view")
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
    browser.settle()
    assert browser.ask("state.view") == before


def test_all_of_it_is_reached_with_the_keyboard(page):
    browser = page(everything())
    reached = set()
    for _ in range(60):
        browser.press("Tab")
        reached.add(browser.ask("document.activeElement.id || document.activeElement.className"))
    assert {"theme", "pool", "in", "peak", "map", "back", "next", "step", "row", "search"} <= reached
    browser.ask("document.querySelector('#map').focus()")
    for _ in range(2):
        browser.press("ArrowRight")
    assert text(browser, "#now").startswith("Step 3, add")
    browser.press("ArrowUp")
    assert text(browser, "#picked h2") == "conv.out"
    browser.press("ArrowUp")
    assert text(browser, "#picked h2") == "sum"
    browser.press("+", text="+")
    assert browser.ask("state.view.t1 - state.view.t0") < 7
    browser.press("0", text="0")
    browser.press("Escape")
    assert not visible(browser, "#picked")


def test_a_kind_is_hidden_by_its_button(page):
    browser = page(everything())
    browser.ask("[...document.querySelectorAll('.kinds button')].find(b => b.innerText === 'activation').click()")
    assert text(browser, "#allHead") == "4 of 6 buffers"
    x, y = browser.ask("[plot.x(2.5), plot.y(8000)]")
    assert browser.ask(f"plot.hit(pool(), {x}, {y}, state.shown)") is None


def contrast(browser, selector):
    """The contrast of text to what is behind it, by the WCAG's formula."""
    return browser.ask(
        "(() => { const light = (rgb) => rgb.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055)"
        " ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);"
        " const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);"
        f" const e = document.querySelector({selector!r}); let back = e;"
        " while (/, 0\\)$|transparent/.test(getComputedStyle(back).backgroundColor)) back = back.parentElement;"
        " const [a, b] = [getComputedStyle(e).color, getComputedStyle(back).backgroundColor].map(c => light(parse(c)));"
        " return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); })()"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_readable_in_dark_and_light(page, dark):
    browser = page(everything(), dark=dark)
    assert browser.ask("document.documentElement.dataset.theme ?? 'light'") == ("dark" if dark else "light")
    for selector in ("h1", "#how", ".hint", ".facts dt", ".rows .size", "th button", ".good"):
        assert contrast(browser, selector) >= 4.5, selector
    browser.ask("document.querySelector('#theme').click()")
    assert contrast(browser, "h1") >= 4.5


def test_five_thousand_buffers_are_all_there(page):
    browser = page(many())
    assert text(browser, "#allHead") == "5,000 buffers"
    assert browser.ask("document.querySelectorAll('#rows tr').length") == 25
    browser.ask("document.querySelector('#more').click()")
    assert browser.ask("document.querySelectorAll('#rows tr').length") == 125
    for sizes, order in ((["65,536"] * 3, "largest"), (["4,096"] * 3, "smallest")):
        assert sizes == browser.ask(
            "[...document.querySelectorAll('#rows tr')].slice(0, 3).map(r => r.innerText.split('\\t').at(-2))"
        ), order
        browser.ask("[...document.querySelectorAll('#heads button')].find(b => b.innerText.startsWith('Size')).click()")
    assert browser.faults() == []


def test_a_report_without_pools_is_a_page_all_the_same(page):
    from tvm_memplan.report.memory import MemoryReport

    browser = page(MemoryReport("", "", "", (), (), ()))
    assert browser.faults() == [] and text(browser, "h1") == "Memory plan"


def test_two_fingers_zoom_and_a_tap_picks(page):
    browser = page(everything(), (390, 844))
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    browser.ask("document.querySelector('#map').scrollIntoView()")
    x, y = middle_of(browser, "sum")

    def touch(kind, *points):
        browser.call(
            "Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": a, "y": b, "id": i} for i, a, b in points]
        )
        browser.settle()

    touch("touchStart", (0, x, y))
    touch("touchEnd")
    assert text(browser, "#picked h2") == "sum"
    browser.ask("document.querySelector('#map').scrollIntoView()")
    x, y = middle_of(browser, "sum")
    before = browser.ask("state.view.t1 - state.view.t0")
    touch("touchStart", (0, x - 20, y), (1, x + 20, y))
    for spread in (30, 40, 50, 60):
        touch("touchMove", (0, x - spread, y), (1, x + spread, y))
    touch("touchEnd")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    assert browser.ask("state.view.t1 - state.view.t0") < 0.7 * before
