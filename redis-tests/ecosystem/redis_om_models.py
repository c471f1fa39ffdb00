"""redis-om: models as hashes and as JSON: saved, read, changed, expired, listed; without its searches."""

import datetime

import redis
from redis_om import Field, HashModel, JsonModel, NotFoundError
from redis_om.model.model import EmbeddedJsonModel

import common
from common import kill_and_start, port, raises, step, until

common.name = "redis-om"
client = redis.Redis(port=port, db=5, decode_responses=True)
client.config_set("redis-version", "7.4.0")  # else redis-om leaves out the times of fields
BORN = datetime.datetime(1815, 12, 10, 12, tzinfo=datetime.timezone.utc)


class Customer(HashModel, index=True):
    name: str
    email: str | None = None
    born: datetime.datetime
    age: int
    is_member: bool = False
    photo: bytes = b""

    class Meta:
        database = client
        global_key_prefix = "shop"
        model_key_prefix = "customer"


class Address(EmbeddedJsonModel):
    city: str

    class Meta:
        database = client


class Order(JsonModel, index=True):
    customer: str
    address: Address
    items: list[str]
    total: float

    class Meta:
        database = client
        global_key_prefix = "shop"
        model_key_prefix = "order"


def make_customer(**more):
    return Customer(**{"name": "Ada", "born": BORN, "age": 36, "photo": b"\x00\xff", "is_member": True, **more})


ada = make_customer()


@step("what is saved is there after kill -9 of the server")
def _():
    ada.save()
    kill_and_start()
    assert Customer.get(ada.pk) == ada
    assert Customer.get(ada.pk).email is None


@step("it is updated and deleted; what is not there is said so")
def _():
    ada.update(email="ada@example.com", age=37)
    assert Customer.get(ada.pk).email == "ada@example.com" and Customer.get(ada.pk).age == 37
    assert make_customer(pk=ada.pk, name="Eve").save(nx=True) is None
    assert make_customer(pk="none").save(xx=True) is None
    raises(NotFoundError, lambda: Customer.get("none"))
    eve = make_customer(name="Eve").save()
    assert Customer.delete(eve.pk) == 1 and Customer.delete(eve.pk) == 0
    raises(NotFoundError, lambda: Customer.get(eve.pk))


@step("many in one pipeline, and all_pks, after kill -9")
def _():
    many = Customer.add([make_customer(name=f"customer {number}", age=number) for number in range(300)])
    kill_and_start()
    assert sorted(Customer.all_pks()) == sorted(each.pk for each in [ada, *many])
    assert all(Customer.get(each.pk) == each for each in many)
    assert Customer.delete_many(many) == 300
    assert list(Customer.all_pks()) == [ada.pk]


@step("a model and a field of it that expire, over kill -9")
def _():
    short = make_customer(name="Bob").save()
    short.expire(1)
    long = make_customer(name="Eve").save(field_expirations={"age": 1000})
    assert long.expire_field("name", 500) == 1
    long.update(age=40)  # redis-om keeps the times of the fields
    kill_and_start()
    assert 900 < long.field_ttl("age") <= 1000 and 400 < long.field_ttl("name") <= 500
    assert long.persist_field("age") == 1 and long.field_ttl("age") == -1
    assert Customer.get(long.pk).age == 40
    until(lambda: short.pk not in Customer.all_pks(), "it has expired")
    raises(NotFoundError, lambda: Customer.get(short.pk))
    Customer.delete(long.pk)


@step("a model as JSON")
def _():
    order = Order(customer=ada.pk, address=Address(city="Zürich"), items=["book", "pen"], total=12.5).save()
    kill_and_start()
    assert Order.get(order.pk) == order
    order.update(address__city="London", total=0.1)
    again = Order.get(order.pk)
    assert again.address.city == "London" and again.total == 0.1 and again.items == ["book", "pen"]
    assert Order.delete(order.pk) == 1
    raises(NotFoundError, lambda: Order.get(order.pk))


Customer.delete(ada.pk)
common.finish()
