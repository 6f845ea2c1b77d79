"""The OpenAPI document is valid; apart from its other tests, since this takes seconds."""

from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.support.openapi import openapi_document, references


def test_the_document_is_valid():
    """It refers to nothing outside: the validator would fetch that."""
    document = openapi_document()
    assert all(target.startswith("#/") for target in references(document))

    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
