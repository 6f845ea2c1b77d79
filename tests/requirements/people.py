"""Who is asked, wherever they are, and how seldom."""

from tests.requirements.model import Requirement

REQUIREMENTS = (
    Requirement("APR-1", "users", "Each state of a request is sent once, also after a kill."),
    Requirement("APR-2", "users", "Each channel says as much as it may, without secrets."),
    Requirement("APR-3", "users", "A link only shows; an answer is bound to one person and call."),
    Requirement("APR-4", "users", "A phone is notified by Web Push, encrypted for its browser."),
    Requirement("APR-5", "users", "Linked people answer in chats, once, and nobody else does."),
    Requirement("APR-6", "users", "Policies name groups, several people, and who comes next."),
    Requirement("APR-7", "users", "Approvals end after a time or uses; a substitute answers."),
    Requirement("APR-8", "users", "Requests expire by their policy, after two reminders."),
    Requirement("FTG-1", "users", "A day of 400 calls asks at most 8 times about harmless ones."),
    Requirement("FTG-2", "users", "Repeated approvals become the narrowest rule, or none."),
    Requirement("FTG-3", "users", "A rule is proven on past calls and the risk corpus."),
    Requirement("FTG-4", "users", "Denials and removals are proposed too."),
    Requirement("FTG-5", "users", "What can be undone runs confined first, where that is set."),
    Requirement("FTG-6", "users", "One answer covers the equal requests of a run."),
    Requirement("FTG-7", "users", "An agent asks for a rule no wider than its call."),
)
