curl -s "${TOLLGATE_URL:-http://127.0.0.1:8420}/api/v1/tools/calculator/call" \
  -H 'content-type: application/json' -d '{"arguments": {"expression": "6 * 7"}}'
