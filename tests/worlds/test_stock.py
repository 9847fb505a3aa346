import csv
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from viewfinder.data.splits import SPLITS, split_of
from viewfinder.errors import BadInput
from viewfinder.worlds.drawing.draw import draw_scene
from viewfinder.worlds.edits import sample_edit
from viewfinder.worlds.kinds import HEIGHT, WIDTH
from viewfinder.worlds.language import caption_scene, describe_regions
from viewfinder.worlds.records import file_name, scene_dialogue
from viewfinder.worlds.scene import box_overlap, sample_scene
from viewfinder.worlds.stock import DRAWN, SHOP_COLUMNS, Stock, cut_out, open_shop, stock_of
from viewfinder.worlds.words import make_nouns

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "fashion-products"

INKS = {"Red": (200, 30, 30), "Navy Blue": (20, 20, 90), "Green": (30, 140, 50)}
ARTICLES = (
    ("Apparel", "Topwear", "Tshirts"),
    ("Accessories", "Bags", "Clutches"),
    ("Accessories", "Eyewear", "Sunglasses"),
)


def _shop(folder: Path, each: int = 4) -> Path:
    """So many products of each of three types, in three colours; drawn as rectangles on white."""
    (folder / "images").mkdir(parents=True)
    with (folder / "products.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(SHOP_COLUMNS)
        for number in range(3 * each):
            colour = list(INKS)[number % 3]
            name = "Striped thing" if number % 2 else "thing"
            writer.writerow([number, *ARTICLES[number // each], colour, name])
            photo = Image.new("RGB", (120, 120), (255, 255, 255))
            ImageDraw.Draw(photo).rectangle((30, 20, 30 + 15 * (1 + number // each), 100), fill=INKS[colour])
            photo.save(folder / "images" / f"{number}.jpg", quality=95)
    return folder


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return stock_of(_shop(tmp_path_factory.mktemp("products") / "shop"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    """A stock with products of every split."""
    return stock_of(_shop(tmp_path_factory.mktemp("products") / "large", each=60))


@pytest.mark.parametrize(
    ("article", "singular", "plural"),
    [
        ("Tshirts", "t-shirt", "t-shirts"),
        ("Watches", "watch", "watches"),
        ("Clutches", "clutch", "clutches"),
        ("Dresses", "dress", "dresses"),
        ("Ties", "tie", "ties"),
        ("Scarves", "scarf", "scarves"),
        ("Casual Shoes", "casual shoe", "casual shoes"),
        ("Jeans", "pair of jeans", "pairs of jeans"),
        ("Lounge Shorts", "pair of lounge shorts", "pairs of lounge shorts"),
        ("Laptop Bag", "laptop bag", "laptop bags"),
        ("Mobile Pouch", "mobile pouch", "mobile pouches"),
        ("Travel Accessory", "travel accessory", "travel accessories"),
    ],
)
def test_article_types_become_nouns(article: str, singular: str, plural: str) -> None:
    assert make_nouns(article)[0] == (singular, plural)


def test_kinds_and_colours_come_from_the_table(stock: Stock) -> None:
    assert set(stock.kinds) == {"t-shirt", "clutch", "pair of sunglasses"}
    assert stock.kinds["t-shirt"].colours == ("green", "navy blue", "red")
    assert ("tee", "tees") in stock.nouns["t-shirt"]
    assert stock.kinds["t-shirt"].shows == {"pair of sunglasses"}  # whoever wears it may wear those


def test_a_scene_is_of_products_in_their_own_colours_and_patterns(stock: Stock) -> None:
    assert stock.shop is not None
    known = {p.id: (k, p) for k, colours in stock.shop.products.items() for some in colours.values() for p in some}
    for number in range(1, 9):
        scene = sample_scene(seed=2, number=number, stock=stock)
        assert 3 <= len(scene.things) <= 8 and scene == sample_scene(seed=2, number=number, stock=stock)
        for thing in scene.things:
            kind, product = known[thing.product]
            assert (thing.kind, thing.colour, thing.pattern) == (kind, product.colour, product.pattern)
            assert thing.pattern == ("striped" if int(thing.product) % 2 else "") and thing.faces == ""
            x, y, width, height = thing.box
            assert 0 <= x <= x + width <= WIDTH and 0 <= y <= y + height <= HEIGHT
            assert width / height == pytest.approx(stock.shop.aspect(kind, thing.product), rel=0.1)


def test_products_are_seen_where_the_truth_says(stock: Stock) -> None:
    scene = sample_scene(seed=2, number=1, stock=stock)
    picture = np.asarray(draw_scene(scene)).astype(int)
    for thing in scene.things:
        if any(box_overlap(thing.box, other.box) for other in scene.things if other != thing):
            continue
        x, y, width, height = thing.box
        ink = INKS[thing.colour.title()]
        assert np.abs(picture[y + height // 2, x + width // 2] - ink).max() < 25


def test_what_is_said_uses_the_products_nouns(stock: Stock) -> None:
    words = {noun for words in stock.nouns.values() for pair in words for noun in pair}
    for number in range(1, 7):
        scene = sample_scene(seed=2, number=number, stock=stock)
        said = [
            *caption_scene(scene),
            *(region.phrase for region in describe_regions(scene)),
            *scene_dialogue(scene, "x").strings,
        ]
        assert sum(any(word in text.lower() for word in words) for text in said) > 0.5 * len(said)
        assert not any(drawn in text.split() for text in said for drawn in ("dog", "kite", "boat", "umbrella"))
        assert len({region.phrase.lower() for region in describe_regions(scene)}) >= 10


def test_a_product_that_cannot_be_cut_out_is_never_picked(tmp_path: Path) -> None:
    folder = _shop(tmp_path / "shop")
    Image.new("RGB", (120, 120), (10, 10, 10)).save(folder / "images" / "0.jpg")
    (folder / "images" / "3.jpg").write_bytes(b"no picture")
    shop = open_shop(folder)
    picked = [shop.pick(random.Random(at), "t-shirt") for at in range(30)]
    assert {product.id for product in picked if product} == {"1", "2"}


def test_a_product_without_a_picture_is_left_out(tmp_path: Path) -> None:
    folder = _shop(tmp_path / "shop")
    (folder / "images" / "1.jpg").unlink()
    assert "t-shirt" not in open_shop(folder).kinds  # three are left, and four are needed


def test_a_scene_is_made_of_products_of_its_own_split_alone(large: Stock) -> None:
    used: dict[str, set[str]] = {split: set() for split in SPLITS}
    for number in range(1, 46):
        name = file_name(number)
        scene = sample_scene(seed=1, number=number, stock=large.of_split(name))
        used[split_of(name)] |= {thing.product for thing in scene.things}
        assert list(scene.stock.kinds) == list(large.kinds)  # categories have one number in all splits
    assert all(products and {split_of(product) for product in products} == {split} for split, products in used.items())


def test_an_edit_brings_no_product_of_another_split(large: Stock) -> None:
    for number in (2, 7, 14, 15, 19, 23):  # for testing and validation
        own = large.of_split(f"{number:07d}")
        edit = sample_edit(seed=1, number=number, stock=own)
        products = {thing.product for scene in (edit.before, edit.after) for thing in scene.things}
        assert {split_of(product) for product in products} == {own.split} == {split_of(f"{number:07d}")}


def test_a_split_with_too_few_products_is_named(stock: Stock) -> None:
    with pytest.raises(BadInput, match=r"products.csv: 1 of its products are for 'val' .* 4 are needed"):
        stock.of_split(file_name(14))


def test_a_part_of_a_stock_travels_too(large: Stock) -> None:
    import pickle

    part = large.of_split(file_name(1))
    assert pickle.loads(pickle.dumps(part)) is part and part.split == "test"


def test_stock_travels_as_the_name_of_its_folder(stock: Stock) -> None:
    import pickle

    assert pickle.loads(pickle.dumps(DRAWN)) is DRAWN
    assert pickle.loads(pickle.dumps(stock)) is stock
    assert len(pickle.dumps(stock)) < 1000


@pytest.mark.parametrize(("damage", "words"), [
    ("gone", "products.csv: cannot be read"),
    ("column", "a column named articletype is needed"),
    ("pictures", "no kind of product has 4 with a picture"),
])  # fmt: skip
def test_a_folder_that_is_no_shop_is_named(tmp_path: Path, damage: str, words: str) -> None:
    folder = _shop(tmp_path / "shop")
    if damage == "gone":
        (folder / "products.csv").unlink()
    elif damage == "column":
        (folder / "products.csv").write_text("id,masterCategory,subCategory\n1,a,b\n")
    else:
        for file in (folder / "images").iterdir():
            file.unlink()
    with pytest.raises(BadInput, match=words):
        stock_of(folder)


@pytest.mark.data
@pytest.mark.slow
def test_real_products_have_kinds_nouns_and_cut_outs() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    shop = open_shop(SHARED)
    assert len(shop.kinds) > 50 and {"t-shirt", "watch", "pair of jeans", "handbag"} <= set(shop.kinds)
    rng = random.Random(0)
    products = [(kind, rng.choice(shop.products[kind][rng.choice(shop.kinds[kind].colours)])) for kind in shop.kinds]
    cut = [shop.aspect(kind, product.id) > 0 for kind, product in products]
    assert sum(cut) / len(cut) > 0.75


SIDE = 200
Colour = tuple[int, int, int]


def _photo(
    background: Colour, *, thing: Colour = (200, 30, 30), box: tuple[int, int, int, int] = (60, 50, 139, 149)
) -> Image.Image:
    photo = Image.new("RGB", (SIDE, SIDE), background)
    ImageDraw.Draw(photo).rectangle(box, fill=thing)
    return photo


def test_a_thing_on_white_is_cropped_to_its_rim() -> None:
    cut = cut_out(_photo((255, 255, 255)))
    assert cut is not None and cut.mode == "RGBA"
    # 80 x 100 pixels; the rim may be drawn in or softened by one.
    assert abs(cut.width - 80) <= 2 and abs(cut.height - 100) <= 2
    alpha = np.asarray(cut)[..., 3]
    assert alpha[50, 40] == 255 and alpha.mean() > 230


def test_the_background_may_be_any_light_colour_with_some_noise() -> None:
    noise = np.random.default_rng(0).integers(-4, 5, (SIDE, SIDE, 3))
    photo = np.clip(np.asarray(_photo((240, 236, 228))).astype(int) + noise, 0, 255).astype(np.uint8)
    cut = cut_out(Image.fromarray(photo))
    assert cut is not None and abs(cut.width - 80) <= 2


@pytest.mark.parametrize("background", [(20, 20, 30), (120, 160, 120)])
def test_a_dark_background_is_refused(background: Colour) -> None:
    assert cut_out(_photo(background)) is None


def test_a_background_of_many_colours_is_refused() -> None:
    photo = np.random.default_rng(0).integers(150, 256, (SIDE, SIDE, 3)).astype(np.uint8)
    assert cut_out(Image.fromarray(photo)) is None


@pytest.mark.parametrize(("box", "why"), [((95, 95, 104, 104), "too little"), ((2, 2, 197, 197), "too much")])
def test_what_leaves_too_little_or_too_much_is_refused(box: tuple[int, int, int, int], why: str) -> None:
    assert cut_out(_photo((255, 255, 255), box=box)) is None, why


def test_nothing_to_see_is_refused() -> None:
    assert cut_out(Image.new("RGB", (SIDE, SIDE), (255, 255, 255))) is None


def test_a_hole_is_seen_through_and_a_pale_print_is_not() -> None:
    photo = _photo((255, 255, 255))
    ImageDraw.Draw(photo).rectangle((80, 70, 119, 99), fill=(255, 255, 255))
    ImageDraw.Draw(photo).rectangle((80, 110, 119, 139), fill=(248, 248, 248))
    cut = cut_out(photo)
    assert cut is not None
    alpha = np.asarray(cut)[..., 3]
    assert alpha[35, 40] == 0 and alpha[75, 40] == 255


def test_a_pale_garment_that_the_flood_ate_into_is_refused() -> None:
    photo = _photo((255, 255, 255))
    # A way in from below, 30 pixels wide: the middle of a white shirt lost to the background.
    ImageDraw.Draw(photo).rectangle((85, 70, 114, 199), fill=(255, 255, 255))
    assert cut_out(photo, solid=True) is None
    assert cut_out(photo) is not None  # of a bag or glasses, that may be how they are made


def test_specks_are_left_out() -> None:
    photo = _photo((255, 255, 255))
    ImageDraw.Draw(photo).rectangle((5, 5, 9, 9), fill=(0, 0, 0))
    cut = cut_out(photo)
    assert cut is not None and cut.width <= 82
