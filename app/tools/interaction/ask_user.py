"""`ask_user`: asks the user a question during a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, model_validator

from app.core.field_problems import FieldError, problem
from app.domain.interactions import QUESTIONS, Choice, Question, QuestionAnswers, Questions
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.schema import invalid_arguments
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.interaction.returns import ASK_USER_RESULT

MAX_CHOICES, MAX_QUESTIONS = 4, 5
MAX_WAIT_S = 7 * 86_400.0
TIMED_OUT = (
    "The user did not provide a response within the time limit. Continue with the "
    "best option, and state your assumptions."
)
DECLINED = "The user chose not to answer."
_FIRST = "q1"
Label = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
Text = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]

_MOST_QUESTIONS = 4
_CHOICES = range(2, 5)
_STATUS = {"answered": "answered", "declined": "declined", "expired": "timed_out"}


class AskedChoice(ToolArgs):
    label: Label
    description: str = Field(default="", max_length=500)


Choices = Annotated[
    list[Label | AskedChoice],
    Field(
        max_length=MAX_CHOICES,
        description="Answers to offer; a free-text answer is always possible.",
    ),
]
MultiSelect = Annotated[bool, Field(description="Allow several choices.")]


class AskedQuestion(ToolArgs):
    id: str = Field(default="", max_length=64, pattern=r"^[A-Za-z0-9_.\-]*$")
    question: Text
    header: str = Field(default="", max_length=12, description="Title of one or two words.")
    choices: Choices = Field(default=[])
    multi_select: MultiSelect = False

    @model_validator(mode="after")
    def _choices_differ(self) -> AskedQuestion:
        check_choices(self.choices, multi_select=self.multi_select)
        return self


class AskUserArgs(ToolArgs):
    question: Text | None = Field(default=None, description="Question to ask; or use `questions`.")
    choices: Choices = Field(default=[])
    multi_select: MultiSelect = False
    questions: list[AskedQuestion] = Field(
        default=[], max_length=MAX_QUESTIONS, description="Several questions, asked together."
    )

    @model_validator(mode="after")
    def _one_or_several(self) -> AskUserArgs:
        if (self.question is None) == (not self.questions):
            raise FieldError(
                "set either `question` or `questions`", code="one_of", needed="question, questions"
            )
        if self.questions and (self.choices or self.multi_select):
            raise FieldError(
                "with `questions`, set choices and multi_select in each question",
                code="not_with",
                given="choices, multi_select",
                needed="questions",
            )
        check_choices(self.choices, multi_select=self.multi_select)
        ids = [item.id for item in asked(self)]
        if len(set(ids)) != len(ids):
            raise FieldError(
                "the IDs of the questions must be distinct", code="repeated", given="id"
            )
        return self


def check_choices(choices: list[Any], *, multi_select: bool) -> None:
    """Refuse choices that cannot be answered.

    Raises:
        ValueError: two choices are equal, or there are none to select from.
    """
    labels = [_choice(choice).label for choice in choices]
    if len(set(labels)) != len(labels):
        raise FieldError("the choices must be distinct", code="repeated", given="choices")
    if multi_select and not choices:
        raise FieldError(
            "multi_select requires choices", code="needs", given="multi_select", needed="choices"
        )


def as_one_question(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{question, options[]}`: one question, with options as texts."""
    if "options" not in raw:
        return raw
    kept = {name: value for name, value in raw.items() if name != "options"}
    return {**kept, "choices": raw["options"] or []}


def one_question_shape(result: ToolResult) -> ToolResult:
    """Return `{question, answer, status}`."""
    responses = _responses(result)
    if not responses:
        return result
    first = responses[0]
    fields = {
        "question": first["question"],
        "answer": _joined(first["user_response"]),
        "status": _status(result),
    }
    return replace(result, data=fields, text=None)


def as_claude(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert `{questions[1..4]{question, header, options[2..4]{label, description},
    multiSelect}}`.

    Raises:
        InvalidArguments: there are more questions, or fewer or more options.
    """
    questions = raw.get("questions")
    if not isinstance(questions, list):
        return as_one_question(raw)
    if len(questions) > _MOST_QUESTIONS:
        raise _problem("questions", f"at most {_MOST_QUESTIONS} questions", 1, _MOST_QUESTIONS)
    return {**raw, "questions": [_question(item, at) for at, item in enumerate(questions)]}


def claude_shape(result: ToolResult) -> ToolResult:
    """Return `{questions[], answers{question: answer}}`."""
    responses = _responses(result)
    if not responses:
        return result
    fields = {
        "questions": [
            {"question": item["question"], "options": item["choices_offered"]} for item in responses
        ],
        "answers": {item["question"]: _joined(item["user_response"]) for item in responses},
    }
    return replace(result, data=fields, text=None)


def _question(item: Any, at: int) -> Any:
    if not isinstance(item, dict):
        return item
    names = {"options": "choices", "multiSelect": "multi_select"}
    fields = {names.get(name, name): value for name, value in item.items()}
    choices = fields.get("choices")
    if isinstance(choices, list) and len(choices) not in _CHOICES:
        raise _problem(f"questions.{at}.options", "between 2 and 4 options", 2, 4)
    return fields


def _problem(path: str, message: str, least: int, most: int) -> Exception:
    named = {"min_length": least, "max_length": most}
    return invalid_arguments([problem(path, message, "too_many_or_few", named)])


def _responses(result: ToolResult) -> list[dict[str, Any]]:
    drawn = result.raw_result.data if result.success and result.raw_result else None
    return list(drawn.get("responses", ())) if isinstance(drawn, dict) else []


def _status(result: ToolResult) -> str:
    assert result.raw_result is not None
    return _STATUS[result.raw_result.data["status"]]


def _joined(response: str | list[str]) -> str:
    return response if isinstance(response, str) else ", ".join(response)


@tool(
    category="interaction",
    toolset="interaction",
    permission=PermissionClass.READ,
    side_effect=SideEffectScope.NONE,
    kind="other",
    interactive=True,
    routing_hint="main-process-proxy",
    timeout_s=MAX_WAIT_S,
    requires=(QUESTIONS,),
    tags=("interaction", "question", "user"),
    argument_aliases={"options": "choices", "multiSelect": "multi_select"},
    aliases=(
        Alias("clarify", families=("netaclaw",)),
        Alias("ask_user_question", adapt=as_one_question, reshape=one_question_shape),
        Alias("AskUserQuestion", adapt=as_claude, reshape=claude_shape, families=("claude",)),
        Alias("AskUserQuestionTool", adapt=as_claude, reshape=claude_shape, families=("jarvis",)),
    ),
    return_schema=ASK_USER_RESULT,
)
async def ask_user(args: AskUserArgs, ctx: ToolContext) -> ToolResult:
    """Ask the user and wait for the answer.

    Use it for the user's decisions and for facts only the user knows; not for permission to make a
    call, which is requested automatically. Offer choices where possible, best first. Returns the
    answer, if any.
    """
    service = ctx.services.require(QUESTIONS, Questions)  # type: ignore[type-abstract]
    questions = asked(args)
    answers = await service.ask(questions, operation_id=ctx.operation_id, timeout_s=ctx.timeout_s)
    responses = [
        {
            "id": question.id,
            "question": question.text,
            "choices_offered": [choice.label for choice in question.choices],
            "user_response": _response(question, answers),
        }
        for question in questions
    ]
    drawn = RawResult("json", {"status": answers.outcome, "responses": responses})
    if args.questions:
        data = {"responses": responses, "timed_out": answers.outcome == "expired"}
        return ToolResult.ok(data, raw_result=drawn)
    (only,) = responses
    del only["id"]
    return ToolResult.ok(only, raw_result=drawn)


def asked(args: AskUserArgs) -> list[Question]:
    """Return the questions of a call, each with an ID."""
    if args.question is not None:
        return [Question(_FIRST, args.question, _choices(args.choices), args.multi_select)]
    return [
        Question(
            item.id or f"q{number}",
            item.question,
            _choices(item.choices),
            item.multi_select,
            item.header,
        )
        for number, item in enumerate(args.questions, 1)
    ]


def _choices(given: list[Label | AskedChoice]) -> tuple[Choice, ...]:
    return tuple(_choice(choice) for choice in given)


def _choice(given: str | AskedChoice) -> Choice:
    if isinstance(given, str):
        return Choice(given)
    return Choice(given.label, given.description)


def _response(question: Question, answers: QuestionAnswers) -> str | list[str]:
    if answers.outcome == "expired":
        return TIMED_OUT
    if answers.outcome == "declined":
        return DECLINED
    return answers.responses.get(question.id, DECLINED)
