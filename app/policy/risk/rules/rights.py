"""Rights, money and publishing: permissions in clouds, clusters, forges and registries."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, RuleTable, ask, options, table
from app.policy.risk.shapes import Rows, Shape, compiled, shaped, together

_WHY = "changes permissions"
_GIVES = (
    "(?:add|attach|put|set|create|update|modify|replace|associate|authorize|grant|enable|register|"
    "reset)"
)
_ABOUT = (
    "(?:(?:access-|bucket-|resource-|role-|user-|group-|key-|repository-|registry-|trust-|"
    "file-system-|"
    "domain-|topic-|queue-|permissions?-|service-control-|org-)*polic(?:y|ies)|permissions?|"
    "(?:bucket-|object-)?acl|"
    "grants?|public-access-block|account-public-access|access-grant\\S*|share|"
    "(?:image|snapshot|db-snapshot|db-cluster-snapshot|fpga-image)-attribute|"
    "security-group-(?:in|e)gress|"
    "ingress|function-url-config|resource-share|principal)"
)
_PUBLIC = r"^(?:--acl(?:=|\n))?public-read(?:-write)?$|^--publicly-accessible$|Principal\W{1,8}\*"

_CLOUDS: Rows = {
    "aws awscli": (
        Shape(
            r"(?:iam|organizations|sso-admin|identitystore|ram) "
            r"(?!get-|list-|describe-|generate-|simulate-|help|wait|validate-|check-|batch-get)\S"
        ),
        Shape(r"cognito-idp admin-(?:add-user-to|set-user|reset|confirm|update-user|enable)"),
        Shape(
            rf"\S+ {_GIVES}-{_ABOUT}(?: |$)",
            unless=r"^(?:autoscaling|application-autoscaling|dlm|backup)$",
        ),
        Shape(r"\S+ (?:authorize|add-layer-version-permission|add-permission|create-grant)\b"),
        Shape(r"(?:s3|s3api|sqs|sns) ", having=_PUBLIC, why="makes data public"),
        Shape(r"rds ", having=r"^--publicly-accessible$", why="makes a database public"),
        Shape(r"ec2 import-key-pair\b"),
        Shape(r"lambda update-function-code\b", why="replaces running code"),
    ),
    "gcloud": (
        Shape(r"(?:\S+ ){1,6}(?:add|set|remove)-(?:iam|invoker)-polic\S*"),
        Shape(
            r"(?:\S+ )*iam (?:roles|workload-identity-pools|policies) (?:\S+ )?(?:update|"
            r"create-\S+|set-\S+)\b"
        ),
        Shape(r"(?:\S+ )*firewall-(?:rules|policies)(?: rules)? (?:create|update)\b"),
        Shape(
            r"(?:\S+ )*(?:deploy|update|create)\b",
            having=r"^--allow-unauthenticated$|^--ingress=all$",
        ),
        Shape(
            r"compute (?:os-login ssh-keys add|project-info add-metadata|instances add-metadata)\b"
        ),
        Shape(r"(?:\S+ )*sql instances patch\b", having=r"^--authorized-networks"),
        Shape(r"(?:\S+ )*(?:billing projects link|organizations \S*add)\b"),
        Shape(
            r"storage (?:buckets|objects) update\b",
            having=r"^--(?:predefined|add)-\S*acl|^--no-public-access",
        ),
    ),
    "gsutil": (
        Shape(r"iam (?:ch|set)\b|(?:def)?acl (?:ch|set)\b|web set\b|pap set\b"),
        Shape(
            r"(?:cp|rsync|setmeta)\b",
            having=r"^public-read(?:-write)?$",
            valued="a",
            why="makes data public",
        ),
    ),
    "bq": (Shape(r"(?:add-iam-policy-binding|set-iam-policy)\b"),),
    "az": (
        Shape(r"role (?:assignment|definition) (?:create|update)\b"),
        Shape(r"ad (?:\S+ ){1,3}(?:add|create|update|grant|admin-consent|reset)\b"),
        Shape(r"(?:\S+ ){1,4}(?:set-policy|set-permission|open-port|assign-identity)\b"),
        Shape(r"(?:\S+ ){1,4}identity assign\b"),
        Shape(
            r"(?:\S+ ){1,4}(?:firewall-rule|nsg rule|rule|network-rule|access-restriction) "
            r"(?:create|update|add)\b"
        ),
        Shape(
            r"(?:\S+ ){1,4}(?:create|update)\b",
            having=r"^--(?:allow-blob-)?public-(?:network-)?access(?:=|\n)(?!(?:false|off|"
            r"disabled|none)$)|"
            r"^--(?:anonymous-pull-enabled|admin-enabled)(?:=|\n)true$|^--default-action(?:=|"
            r"\n)[aA]llow$",
        ),
        Shape(r"containerapp ingress enable\b", having=r"^(?:--type=)?external$"),
        Shape(r"devops security (?:permission|group) \S*(?:update|add|create)\b"),
        Shape(r"reservations \S+ purchase\b|billing \S+ (?:create|update)\b", why="spends money"),
    ),
    "doctl": (
        Shape(
            r"compute firewall (?:create|update|add-rules)\b|compute ssh-key (?:create|import)\b"
        ),
        Shape(r"databases firewalls (?:append|replace)\b"),
    ),
    "hcloud": (Shape(r"firewall (?:add-rule|set-rules|replace-rules)\b|ssh-key create\b"),),
    "ibmcloud": (Shape(r"iam \S*-(?:create|update|add|assign)\b|account user-invite\b"),),
    "oci": (
        Shape(r"iam (?:policy|user|group|dynamic-group) (?:create|update|add-user|api-key)\b"),
    ),
    "aliyun": (
        Shape(r"ram (?:Attach|Create|Add|Update|Set)\w+"),
        Shape(r"ecs AuthorizeSecurityGroup\b"),
    ),
    "tccli": (Shape(r"cam (?:Attach|Create|Add|Update|Set)\w+"),),
    "openstack": (
        Shape(
            r"(?:role add|role assignment|security group rule create|keypair create|trust create)\b"
        ),
    ),
    "scw": (
        Shape(r"iam \S+ (?:create|update|add\S*|set\S*)\b|instance security-group create-rule\b"),
    ),
    "linode-cli": (
        Shape(r"(?:users|sshkeys|firewalls) (?:create|update|rules-update|user-grants-update)\b"),
    ),
    "mc mcli": (
        Shape(
            r"(?:policy|anonymous) set(?:-json)? (?!none|private)\S|admin (?:policy|user|group) "
            r"(?:attach|set|add|create)\b"
        ),
        Shape(r"share upload\b"),
    ),
    "s3cmd": (Shape(having=r"^(?:-P|--acl-public|--acl-grant)|^(?:setacl|setpolicy)$"),),
    "kubectl oc k microk8s.kubectl": (
        Shape(r"create (?:cluster)?rolebinding\b"),
        Shape(r"set (?:subject|serviceaccount|sa)\b"),
        Shape(r"(?:certificate approve|auth reconcile)\b"),
        Shape(r"(?:adm )?policy (?:add|remove)-\S"),
        Shape(r"adm (?:groups|policy) \S*(?:add|new)\S*"),
    ),
    "eksctl": (
        Shape(
            r"create (?:iamidentitymapping|iamserviceaccount|accessentry|podidentityassociation)\b"
        ),
    ),
    "vault bao": (
        Shape(r"(?:policy write|token create|auth enable|operator rekey)\b"),
        Shape(
            r"write (?:auth/\S+/(?:role|users|map|config)|identity/|sys/(?:policy|policies|"
            r"auth))\S*"
        ),
    ),
    "consul nomad": (Shape(r"acl (?:\S+ )?(?:create|update|apply|bootstrap)\b"),),
    "etcdctl": (Shape(r"(?:role grant-permission|user (?:add|grant-role|passwd)|auth disable)\b"),),
    "rabbitmqctl": (
        Shape(r"(?:set_(?:topic_)?permissions|set_user_tags|add_user|change_password|set_user)\b"),
    ),
    "kafka-acls kafka-acls.sh": (Shape(having=r"^--add$"),),
    "redis-cli valkey-cli keydb-cli": (
        Shape(r"(?i)acl (?:setuser|load)\b", valued="h p a n u -user -pass"),
    ),
    "wp": (
        Shape(
            r"user (?:create|set-role|add-role|add-cap|reset-password|application-password "
            r"create|generate)\b"
        ),
        Shape(r"user update\b", having=r"^--(?:user_pass|role)"),
        Shape(r"super-admin add\b|role (?:create|reset)\b|cap add\b"),
    ),
    "drush": (
        Shape(r"(?:user:(?:role:add|password|login|create)|urol|upwd|uli|ucrt|role:perm:add)\b"),
    ),
    "kcadm.sh kcadm": (Shape(r"(?:add-roles|set-password|create users|create roles)\b"),),
    "gitea forgejo": (Shape(r"admin user (?:create|change-password|generate-access-token)\b"),),
    "grafana-cli grafana": (Shape(r"(?:cli )?admin reset-admin-password\b"),),
    "occ": (Shape(r"user:(?:add|resetpassword)\b|group:adduser\b"),),
    "createuser": (Shape(unless=r"^(?:-\?|--help|-V|--version)$"),),
    "dseditgroup": (Shape(having=r"^-[ad]$"),),
    "ldapmodify ldapadd ldappasswd ldapmodrdn": (Shape(unless=r"^-n$|^-\w*V$|^--help$"),),
    "samba-tool": (
        Shape(
            r"(?:user|group|dsacl|delegation|domain) (?:create|add\S*|setpassword|set|enable|"
            r"passwordsettings set)\b"
        ),
    ),
    "ipa": (
        Shape(r"\S+-(?:add|add-member|add-user|add-host|mod|passwd)(?: |$)"),
        Shape(r"passwd\b"),
    ),
    "kadmin kadmin.local": (
        Shape(having=r"\b(?:addprinc|add_principal|cpw|change_password|modprinc|ktadd)\b"),
    ),
    "realm": (Shape(r"(?:join|permit)\b"),),
}
_FORGES: Rows = {
    "gh": (
        Shape(r"(?:repo )?deploy-key add\b|(?:ssh|gpg)-key add\b|secret set\b"),
        Shape(r"repo create\b", having=r"^--public$", why="makes the repository public"),
        Shape(r"gist create\b", having=r"^(?:-\w*p|--public)$", why="makes a file public"),
        Shape(r"auth refresh\b", having=r"^(?:-s|--scopes)"),
        Shape(
            r"repo (?:rename|edit)\b", having=r"^--visibility(?:=|\n)(?:public|internal)|^rename$"
        ),
    ),
    "glab": (
        Shape(r"(?:deploy-key|ssh-key|gpg-key) add\b|repo members add\b|token (?:create|rotate)\b"),
        Shape(r"variable (?:set|update)\b|repo transfer\b|cluster agent bootstrap\b"),
        Shape(r"repo (?:create|update)\b", having=r"^--(?:public|visibility=public)$"),
    ),
    "tea": (Shape(r"(?:admin users|ssh-keys) (?:create|add)\b"),),
    "npm pnpm yarn": (
        Shape(r"access (?!list|ls|get|help)\S|owner (?:add|rm)\b|team (?:add|create|rm|destroy)\b"),
        Shape(r"org (?:set|rm)\b|hook add\b|profile (?:set|enable-2fa|disable-2fa)\b"),
        Shape(r"(?:npm )?(?:tag add|dist-tag (?:add|set))\b"),
    ),
    "gem": (Shape(r"owner\b", having=r"^(?:-a|--add|-r|--remove)"),),
    "cargo": (Shape(r"owner\b", having=r"^(?:-a|--add|-r|--remove)"),),
    "nuget": (Shape(r"setapikey\b"),),
    "tailscale": (Shape(r"(?:policy|lock (?:sign|init|add|disable))\b"),),
    "docker": (Shape(r"trust (?:sign|signer add|key load)\b"),),
    "cloudflared": (Shape(r"tunnel route\b"),),
    "wrangler": (Shape(r"secret (?:put|bulk)\b"),),
    "supabase": (Shape(r"secrets set\b"),),
}
_PUBLISHING: Rows = {
    "crane": (
        Shape(r"(?:push|copy|cp|append|mutate|tag|rebase|edit)\b", unless=r"^(?:-o|--output)"),
    ),
    "skopeo": (Shape(r"(?:copy|sync)\b", having=r"^docker://(?!localhost|127\.)\S+\Z"),),
    "oras": (Shape(r"(?:push|cp|copy|attach|tag)\b"),),
    "regctl": (Shape(r"(?:image|artifact|tag|manifest) (?:copy|mod|put|import)\b"),),
    "ko": (
        Shape(r"(?:build|publish|apply|create|resolve)\b", unless=r"^(?:--local|-L|--push=false)$"),
    ),
    "helm helm3": (Shape(r"push\b|cm-push\b"),),
    "cosign": (Shape(r"(?:sign|attest|attach|copy|upload)(?: |$)"),),
    "ovsx vsce": (Shape(r"publish\b"),),
    "jsr deno": (Shape(r"publish\b", unless=r"^--dry-run$"),),
    "hf huggingface-cli": (Shape(r"(?:upload|upload-large-folder|repo create|repos create)\b"),),
    "kaggle": (
        Shape(
            r"(?:competitions|c) submit\b|(?:datasets|d|kernels|k|models) (?:create|version|push)\b"
        ),
    ),
    "pod": (Shape(r"(?:trunk|repo) push\b"),),
    "dart flutter": (Shape(r"pub (?:lish|publish)\b", unless=r"^(?:-n|--dry-run)$"),),
    "mix": (Shape(r"hex\.publish\b|hex\.owner (?:add|transfer)\b"),),
    "rebar3": (Shape(r"hex publish\b"),),
    "cabal stack": (Shape(r"upload\b"),),
    "luarocks": (Shape(r"upload\b"),),
    "nimble opam": (Shape(r"publish\b"),),
    "cpan-upload dput debrelease dcut": (Shape(unless=r"^(?:-s|--simulate|--help|-n)$"),),
    "conan": (Shape(r"upload\b"),),
    "anaconda": (Shape(r"upload\b"),),
    "snapcraft": (Shape(r"(?:upload|push|release|promote|register)\b"),),
    "copr-cli": (Shape(r"(?:build|create|buildscm)\b"),),
    "ansible-galaxy": (Shape(r"collection publish\b|(?:role )?import\b"),),
    "semantic-release": (Shape(unless=r"^(?:-d|--dry-run|--help|--version)$"),),
    "release-it np": (Shape(unless=r"^(?:--dry-run|--preview|--help|--version|--no-publish)$"),),
    "goreleaser": (Shape(r"release\b", unless=r"^--(?:snapshot|skip=.*publish.*)$"),),
    "nx": (Shape(r"release publish\b", unless=r"^(?:-d|--dry-run)$"),),
    "gradle gradlew": (
        Shape(
            r"(?:\S+ )*:?(?:\w+:)*(?:publish(?!ToMavenLocal)\w*|uploadArchives)(?: |$)",
            unless=r"^(?:-m|--dry-run)$",
        ),
    ),
    "sbt": (Shape(r"(?:\S+ )*(?:publish|publishSigned|sonatype\w*Release)(?: |$)"),),
    "mvn mvnw": (Shape(r"(?:\S+ )*release:perform\b"),),
    "fastlane": (Shape(r"(?:\S+ )?(?:deliver|release|beta|pilot|supply|upload_to\w+)\b"),),
    "xcrun": (Shape(r"altool\b", having=r"^--upload"), Shape(r"notarytool submit\b")),
    "eas": (Shape(r"(?:submit|update)\b"),),
    "gh-pages surge": (
        Shape(unless=r"^(?:-V|--version|-h|--help|list|whoami|login|logout|teardown)$"),
    ),
    "mkdocs": (Shape(r"gh-deploy\b"),),
    "ghp-import": (Shape(having=r"^(?:-\w*p|--push)$"),),
    "quarto": (Shape(r"publish\b"),),
    "ipfs": (Shape(r"name publish\b|pin remote add\b"),),
    "flit": (Shape(r"publish\b"),),
    "rsconnect": (Shape(r"deploy\b"),),
    "twilio": (Shape(r"(?:api:core:messages:create|phone-numbers:buy\S*)"),),
}
_PAYMENTS: Rows = {
    "stripe": (
        Shape(
            r"(?:payment_intents|charges|payouts|transfers|refunds|invoices|subscriptions|"
            r"subscription_schedules|payment_links|checkout sessions|quotes|credit_notes|topups|"
            r"setup_intents|disputes|payment_methods|issuing \S+|treasury \S+) "
            r"(?:create|update|confirm|capture|cancel|pay|send_invoice|finalize_invoice|"
            r"void_invoice|"
            r"approve|reverse|refund|close|accept|transfer_\w+)\b"
        ),
        Shape(r"(?:post|delete)\b"),
    ),
    "aws awscli": (
        Shape(
            r"ec2 (?:run-instances|request-spot-\S+|purchase-\S+|allocate-hosts|create-fleet)\b",
            unless=r"^--dry-run$",
        ),
        Shape(
            r"\S+ purchase-\S+|route53domains (?:register|transfer|renew)-\S+|"
            r"savingsplans create-\S+|marketplace\S* (?:accept|create)\S*"
        ),
    ),
    "bitcoin-cli litecoin-cli dogecoin-cli": (
        Shape(
            r"(?:send\w*|bumpfee|psbtbumpfee|walletpassphrase|signrawtransaction\w*|settxfee)\b",
            valued="rpcwallet",
        ),
    ),
    "lncli": (
        Shape(r"(?:sendpayment|payinvoice|sendcoins|sendmany|closechannel|openchannel|keysend)\b"),
    ),
    "lightning-cli": (
        Shape(r"(?:pay|xpay|withdraw|close|fundchannel|keysend|multifundchannel)\b"),
    ),
    "cast": (Shape(r"(?:send|publish|mktx)\b"),),
    "forge": (Shape(r"(?:script|create)\b", having=r"^--broadcast$"), Shape(r"create\b")),
    "solana": (
        Shape(
            r"(?:transfer|pay|program (?:deploy|close|write-buffer)|withdraw-stake|"
            r"delegate-stake)\b"
        ),
    ),
    "spl-token": (Shape(r"(?:transfer|mint|burn|approve|authorize|close)\b"),),
    "near": (Shape(r"(?:send|send-near|deploy|tokens)\b"),),
    "cardano-cli": (Shape(r"(?:\S+ )?transaction submit\b"),),
    "electrum": (Shape(r"(?:payto|paytomany|broadcast|sweep)\b"),),
    "monero-wallet-cli": (Shape(having=r"\b(?:transfer|sweep_all)\b"),),
    "vercel": (Shape(r"domains (?:buy|transfer-in)\b"),),
    "hardhat": (Shape(having=r"^(?:--network=)?mainnet$"),),
}

_ORDINARY = re.compile(
    r"/?(?:repos/[^/]+/[^/]+|projects/[^/]+)/(?:issues|pulls|merge_requests|comments|labels|notes|"
    r"milestones|discussions|check-runs|statuses|actions/workflows/[^/]+/dispatches|"
    r"actions/runs/\d+/rerun\S*|dispatches|markdown|pipelines?)(?:[/?]|$)|/?markdown"
)
"""Everyday changes in a forge: tickets, reviews, builds."""


def _api(call: CommandCall) -> Iterator[Answer]:
    """Handle `gh api`: a changing call, except for tickets and reviews."""
    given = options(
        call.args, "X f F H q t R -method -field -raw-field -header -jq -template -input -hostname"
    )
    if given.rest[:1] != ["api"]:
        return
    path = given.rest[1] if len(given.rest) > 1 else ""
    fields = given.all_values("-f", "-F", "--field", "--raw-field")
    sends = bool(fields) or given.has("--input")
    method = (given.value("-X", "--method") or ("POST" if sends else "GET")).upper()
    if path == "graphql":
        if any(re.match(r"query=\s*mutation\b", text) for text in fields):
            yield ask("rights", f"{call.name} changes something on the forge")
    elif method in {"PUT", "POST", "PATCH"} and not _ORDINARY.match(path):
        yield ask("rights", f"{call.name} changes {path or 'something'} on the forge")


_PROTECTION = re.compile(
    r"(?m)^--no-(?:enable-)?(?:deletion|termination)-protection$|^--(?:deletion|"
    r"termination)-protection=(?:false|off)|"
    r"^--no-disable-api-termination$|^--(?:enable-)?(?:purge-protection|soft-delete)(?:=|\n)false$"
)


def _unprotected(call: CommandCall) -> Iterator[Answer]:
    """Handle resources that lose their protection against deletion."""
    if compiled(_PROTECTION.pattern).search("\n".join(call.args)):
        yield ask("protection_off", f"{call.name} allows a resource to be deleted")


RULES: RuleTable = together(
    shaped("rights", _WHY, _CLOUDS, _FORGES),
    shaped("publish", "publishes under a name, which cannot be undone", _PUBLISHING),
    shaped("payment", "moves or spends money", _PAYMENTS),
    table("gh glab", _api),
    table("aws awscli gcloud az doctl ibmcloud oci hcloud scw aliyun", _unprotected),
)
