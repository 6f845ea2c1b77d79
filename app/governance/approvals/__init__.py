"""Who answers confirmations: groups of approvers, policies that name them, and substitutes."""
