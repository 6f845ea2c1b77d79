curl -s "${TOLLGATE_URL:-http://127.0.0.1:8420}/api/v1/tools/calculator/call?result=text" \
  -H "authorization: Bearer ${TOLLGATE_TOKEN:-$(cat data/bootstrap.token)}" \
  -H 'content-type: application/json' -d '{"arguments": {"expression": "6 * 7"}}'
