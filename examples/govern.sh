set -eu
url="${TOLLGATE_URL:-http://127.0.0.1:8420}/api/v1"
token="${TOLLGATE_TOKEN:-$(cat data/bootstrap.token)}"
ask() { # METHOD PATH [JSON]
  curl -sS --fail-with-body -X "$1" "$url$2" -H "authorization: Bearer $token" \
    -H 'content-type: application/json' ${3:+-d "$3"}
  echo
}

# An agent that reads and searches, and asks before it runs a command.
ask POST /admin/agents '{"id": "reader", "selection": ["toolset:search", "read_file"],
  "tools": {"bash": {"state": "ask"}}, "unattended": "suspend"}'
# Deny git push. The examples are checked before the rule is stored.
ask POST /admin/rules '{"tool": "bash", "match": {"argv": ["git", "push", "..."]},
  "decision": "deny", "justification": "Open a pull request instead.",
  "examples": {"match": ["cd app && git -C . push"], "not_match": ["git status"]}}'
# Test a call against the policies. Nothing is executed.
ask POST /admin/rules/test '{"tool": "bash", "command": "git push", "agent_id": "reader"}'
# List the agent's tools, and why others are unavailable.
ask GET '/admin/toolset?agent_id=reader'
# Show who made the changes, and verify the audit log.
ask GET '/admin/audit?kind=governance.&limit=2'
ask POST /admin/audit/verify
