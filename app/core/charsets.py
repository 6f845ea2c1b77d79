"""Detection of legacy text encodings by the frequency of the resulting letters.

Most byte sequences are valid text in most of these encodings. With the right encoding, the letters
are common ones of its language; with a wrong one they are rare.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Rater = Callable[[str, Sequence[str]], float]
# Rating takes 1 µs per byte, sometimes on the event loop.
SAMPLE_BYTES = 16 << 10

# The most frequent letters of each language or script.
_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后"
    "作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因"
    "只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手"
    "应战向头文体政美相见被利二等产或新己制身果加西月话合回特代内信表化老给世位次度门任常先海通教"
    "原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四神总何电数安少报才结反受目太"
    "量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展科司五基眼书非则听白却界"
    "达光放强即像难且权思完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术共确传观清今切院让"
    "识候带导争运配置默认注释标符号错误测试版本输参返函值称容编码添补充议录旧字读写改删除单列序示"
    "请选择执首页登密户支付购车搜索消息保存闭始束态失败功创修项按钮图片音频视链详细介绍简键备份恢复"
    "启停时长件夹径查找替换状调用求响应端服客网络页库存块线程锁环境变依赖包装署构架模型板例注"
)
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後"
    "作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心本前開但因"
    "只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手"
    "應戰向頭文體政美相見被利二等產或新己制身果加西月話合回特代內信表化老給世位次度門任常先海通教"
    "原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四神總何電數安少報才結反受目太"
    "量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展科司五基眼書非則聽白卻界"
    "達光放強即像難且權思完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術共確傳觀清今切院讓"
    "識候帶導爭運配置預註釋標符號錯誤測試版輸參返函值稱容編碼添補充議錄舊字讀寫改刪除單列序示請選擇"
    "檔案資料程式網路軟體硬碟視窗連線伺服器使用者密碼登入儲存關閉開啟"
)
_KANJI = frozenset(
    "日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午"
    "百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨会議記録明説設定変更確認内容"
    "文字列数値名前表示入力出力実行処理方法結果場合必要使用対象情報作成追加削除保存開始終了場所的事者"
    "社手自部発合業回新体関意地方力性物度問題代理同最全要動用当主立連続通信管理画面検索登録番号項目"
    "選択参照有無効可能不正規現在以下初期化注釈個別各次第書込読取接続試験注文商品金額税率料計算請求"
)
_HANGUL = frozenset(
    "이다는을를의가에고로지하은한도서사기리시어자인대아스나일보정제그해수구전있들라주원상으과부장면적여"
    "성게안마모만연식방우경조요동관비트미소진유발중개등무까음없문영했것물법입습니생회공신세내점때당실"
    "분저국결같현오행위거르드크터치파설읽값숫되않합용명령변환선택확인취데베코록목표추삭입력출처계산및"
    "버튼화름날짜간더될할수록글쓰기준별접속권번호달년월며려야와"
)
_CYRILLIC = frozenset("оеаинтсрвл")
_VOWELS = frozenset("оеаиуыюя")
_THAI = frozenset("านรอกเงยลมวตทสดคปบหพชจขแไใโผซถฟะัำิีืุู็่้์")
# Letters with the same byte in the code pages of Western and Central Europe.
_LATIN_BYTES = frozenset("äöüÄÖÜßéíóúçâôëî".encode("cp1252")) - {0xE1}
_LATIN_WORD = re.compile(rb"(?<=[A-Za-z])[\x80-\xff]{1,2}|[\x80-\xff](?=[A-Za-z])")
# Excludes punctuation and full-width forms, which every East Asian encoding has.
_LETTERS = re.compile("[^\x00-\x7f\u3000-\u303f\uff01-\uff5e]")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# A word that mixes ASCII letters with another script is not a real word.
_MIXED_WORD = re.compile(r"[A-Za-z][^\W\d_A-Za-z]|[^\W\d_A-Za-z][A-Za-z]")
_AHEAD = 1.5
_FEWEST, _FEW = 2, 8


@dataclass(frozen=True, slots=True)
class Guess:
    """A guessed encoding; `is_sure` if the letters identify it clearly."""

    encoding: str
    is_sure: bool


def guess(data: bytes) -> Guess | None:
    """Return the encoding of a text that is not Unicode; None if it is ambiguous."""
    sample = _sample(data)
    best = _best(sample, _EAST_ASIA)
    if best is not None:
        return Guess(best, is_sure=True)
    best = _best(sample, _ALPHABETS)
    if best is None and _is_latin(sample):
        best = "cp1252"
    return None if best is None else Guess(best, is_sure=False)


def sure_encoding(data: bytes) -> str | None:
    """Return the encoding of a text that is not Unicode, if its letters identify it clearly."""
    return _best(_sample(data), _EAST_ASIA)


def _sample(data: bytes) -> bytes:
    """Return up to `SAMPLE_BYTES` from the start of the first line with a non-ASCII byte."""
    first = _BEYOND_ASCII.search(data)
    if first is None:
        return b""
    start = data.rfind(b"\n", 0, first.start()) + 1
    return data[start : start + SAMPLE_BYTES]


def _best(sample: bytes, raters: Mapping[str, Rater]) -> str | None:
    """Return the encoding whose rating clearly exceeds the others, or None."""
    rated = sorted(((_rating(sample, name, raters[name]), name) for name in raters), reverse=True)
    (best, name), *others = rated
    ahead = all(best >= other * _AHEAD for other, _ in others)
    return name if best and ahead else None


def _rating(sample: bytes, name: str, rater: Rater) -> float:
    """Return from 0 to 1 how common the sample's letters are when decoded with an encoding."""
    # The sample may end within a character.
    decoder = codecs.getincrementaldecoder(name)()
    try:
        text = decoder.decode(sample, final=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return 0.0
    beyond = _LETTERS.findall(text)
    return rater(text, beyond) if len(beyond) >= _FEWEST else 0.0


def _usual(count: int, beyond: Sequence[str]) -> float:
    """Return the share of common letters; 0 if it could be coincidence."""
    share = count / len(beyond)
    return share if share >= (0.6 if len(beyond) < _FEW else 0.45) else 0.0


def _letters(usual: frozenset[str]) -> Rater:
    return lambda _, beyond: _usual(sum(letter in usual for letter in beyond), beyond)


def _japanese(_: str, beyond: Sequence[str]) -> float:
    kana = sum("\u3041" <= letter <= "\u30fc" for letter in beyond)
    # Without kana, the text could also be Chinese.
    return _usual(kana + sum(letter in _KANJI for letter in beyond), beyond) if kana else 0.0


def _cyrillic(text: str, beyond: Sequence[str]) -> float:
    if _MIXED_WORD.search(text) or not re.search("[а-яіїєґ]{3}", text):
        return 0.0
    if sum(letter in _VOWELS for letter in beyond) < 0.3 * len(beyond):
        return 0.0
    return _usual(sum(letter in _CYRILLIC for letter in beyond), beyond)


def _thai(text: str, beyond: Sequence[str]) -> float:
    share = sum(letter in _THAI for letter in beyond) / len(beyond)
    return share if share >= 0.9 and not _MIXED_WORD.search(text) else 0.0


def _is_latin(sample: bytes) -> bool:
    """Return whether all non-ASCII bytes are unambiguous accented letters in ASCII words."""
    beyond = [byte for byte in sample if byte > 0x7F]
    in_words = sum(len(found) for found in _LATIN_WORD.findall(sample))
    return bool(beyond) and _LATIN_BYTES.issuperset(beyond) and in_words == len(beyond)


_EAST_ASIA: Mapping[str, Rater] = {
    "gb18030": _letters(_SIMPLIFIED),
    "big5hkscs": _letters(_TRADITIONAL),
    "cp932": _japanese,
    "euc_jp": _japanese,
    "cp949": _letters(_HANGUL),
}
_ALPHABETS: Mapping[str, Rater] = {
    **dict.fromkeys(("cp1251", "koi8_r", "cp866", "iso8859_5"), _cyrillic),
    "cp874": _thai,
}
